import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.openai.azure.AzureOpenAIServiceVersion;
import com.openai.azure.AzureUrlPathMode;
import com.openai.azure.credential.AzureApiKeyCredential;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Program that makes the calls of a plan with the Java clients and prints what their types do not have of each answer.
 *
 * <p>It reads the plan on its input, as cases.py writes it, and prints the JSON of each call. Services, parameters and
 * models are found by name, since both clients are built alike.
 */
public final class Strict {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final List<String> OWNERS = List.of("vectorStoreId", "conversationId");
    private static final List<String> IDS = List.of(
            "fileId", "batchId", "itemId", "responseId", "completionId", "messageBatchId", "modelId", "model",
            "vectorStoreId", "conversationId");

    public static void main(String[] arguments) throws Exception {
        JsonNode plan = JSON.readTree(System.in);
        for (JsonNode target : plan.get("targets")) run(target);
        System.out.flush();
        System.exit(0); // the clients' threads would keep it waiting
    }

    private static void run(JsonNode target) throws Exception {
        Object client = connect(target);
        Map<String, String> saved = new HashMap<>();
        for (JsonNode raw : target.get("calls")) {
            String text = raw.toString();
            for (var one : saved.entrySet()) text = text.replace("{" + one.getKey() + "}", one.getValue());
            JsonNode request = JSON.readTree(text);
            ObjectNode said = JSON.createObjectNode();
            said.put("target", target.get("name").asText());
            said.put("call", request.get("call").asText());
            said.put("name", request.get("name").asText());
            make(client, request, said, saved);
            System.out.println(said);
        }
    }

    private static Object connect(JsonNode target) {
        String url = target.get("url").asText(), key = target.get("key").asText();
        if (target.get("client").asText().equals("anthropic")) {
            var builder = AnthropicOkHttpClient.builder().baseUrl(url).apiKey(key).maxRetries(0);
            target.get("headers").fields().forEachRemaining(one -> builder.putHeader(one.getKey(), one.getValue().asText()));
            return builder.build();
        }
        var builder = OpenAIOkHttpClient.builder().baseUrl(url).maxRetries(0);
        target.get("headers").fields().forEachRemaining(one -> builder.putHeader(one.getKey(), one.getValue().asText()));
        if (target.get("client").asText().equals("azure")) {
            builder.credential(AzureApiKeyCredential.create(key)).azureUrlPathMode(AzureUrlPathMode.LEGACY);
            builder.azureServiceVersion(AzureOpenAIServiceVersion.fromString(target.get("api_version").asText()));
        } else {
            builder.apiKey(key);
        }
        return builder.build();
    }

    private static void make(Object client, JsonNode request, ObjectNode said, Map<String, String> saved) throws Exception {
        int status = request.path("status").asInt(0);
        List<Object> answers = new ArrayList<>();
        try {
            answers.addAll(callService(client, request));
            if (status != 0) said.put("failed", "no status " + status);
        } catch (InvocationTargetException | RuntimeException error) {
            Throwable cause = error instanceof InvocationTargetException held ? held.getCause() : error;
            if (status != 0 && Walk.has(cause.getClass(), "statusCode") && Walk.call(cause, "statusCode").equals(status)) {
                readError(cause, answers);
            } else {
                said.put("failed", String.valueOf(cause));
            }
        }
        Walk walk = new Walk();
        answers.forEach(answer -> walk.walk(answer, ""));
        said.put("answers", answers.size());
        said.set("found", JSON.valueToTree(walk.found));
        for (var one : (Iterable<Map.Entry<String, JsonNode>>) () -> request.path("save").fields()) {
            if (!answers.isEmpty()) saved.put(one.getKey(), pick(answers.get(0), one.getValue().asText()));
        }
    }

    /** Read the body of a refusal into the model that the client has of errors; text in place of it is a misfit. */
    private static void readError(Throwable error, List<Object> answers) throws Exception {
        boolean openai = error.getClass().getName().startsWith("com.openai");
        Class<?> kind = Class.forName(openai ? "com.openai.models.ErrorObject" : "com.anthropic.models.ErrorResponse");
        ObjectMapper mapper = mapperOf(kind);
        JsonNode body = mapper.valueToTree(Walk.call(error, "body"));
        answers.add(body.isObject() ? mapper.treeToValue(body, kind) : new Walk.Text());
    }

    private static List<Object> callService(Object client, JsonNode request) throws Exception {
        String call = camel(request.get("call").asText().replace("*", ""));
        boolean streamed = request.get("call").asText().endsWith("*") || call.endsWith(".results");
        String[] names = call.split("\\.");
        Object service = client;
        for (int i = 0; i + 1 < names.length; i++) service = Walk.call(service, names[i]);
        String wanted = names[names.length - 1] + (streamed ? "Streaming" : "");
        Class<?> face = Arrays.stream(service.getClass().getInterfaces()).findFirst().orElseThrow();
        Method method = Arrays.stream(face.getMethods())
                .filter(one -> one.getName().equals(wanted) && one.getParameterCount() == 1)
                .filter(one -> one.getParameterTypes()[0].getSimpleName().endsWith("Params"))
                .filter(one -> !one.getParameterTypes()[0].getSimpleName().startsWith("Structured"))
                .findFirst()
                .or(() -> Arrays.stream(face.getMethods())
                        .filter(one -> one.getName().equals(wanted) && one.getParameterCount() == 0)
                        .findFirst())
                .orElseThrow(() -> new IllegalStateException("no method " + call));
        method.setAccessible(true);
        Object answer = method.getParameterCount() == 0
                ? method.invoke(service)
                : method.invoke(service, build(method.getParameterTypes()[0], request));
        return listAnswers(answer);
    }

    private static List<Object> listAnswers(Object answer) throws Exception {
        List<Object> found = new ArrayList<>();
        if (answer == null) {
            found.add("");
        } else if (answer instanceof com.openai.core.http.HttpResponse content) {
            if (content.body().readAllBytes().length > 0) found.add("");
        } else if (answer instanceof AutoCloseable && Walk.has(answer.getClass(), "stream")) {
            Method stream = answer.getClass().getMethod("stream");
            stream.setAccessible(true);
            ((Stream<?>) stream.invoke(answer)).forEach(found::add);
            ((AutoCloseable) answer).close();
        } else if (answer.getClass().getSimpleName().endsWith("Page")) {
            found.addAll((List<?>) Walk.call(answer, "items"));
        } else {
            found.add(answer);
        }
        return found;
    }

    /** Build parameters: ids by their setters, the body as the JSON of the plan. */
    private static Object build(Class<?> kind, JsonNode request) throws Exception {
        Object builder = kind.getMethod("builder").invoke(null);
        JsonNode ids = request.get("args");
        boolean isOwned = request.get("call").asText().matches("(vector_stores|conversations)\\..*");
        for (int i = 0; i < ids.size(); i++) {
            List<String> names = i == 0 && isOwned ? OWNERS : IDS;
            String name = names.stream().filter(one -> setter(builder, one, String.class) != null).findFirst().orElseThrow();
            setter(builder, name, String.class).invoke(builder, ids.get(i).asText());
        }
        if (request.has("file")) fillForm(builder, request);
        else if (request.has("body")) fillBody(kind, builder, request.get("body"));
        return builder.getClass().getMethod("build").invoke(builder);
    }

    private static void fillBody(Class<?> kind, Object builder, JsonNode body) throws Exception {
        for (Method method : builder.getClass().getMethods()) {
            if (method.getName().equals("body") && method.getParameterCount() == 1) {
                ObjectNode fields = body.deepCopy();
                fields.remove("stream"); // the streaming method says it
                Class<?> wanted = method.getParameterTypes()[0];
                method.invoke(builder, mapperOf(kind).readValue(fields.toString(), wanted));
                return;
            }
        }
        for (Method method : builder.getClass().getMethods()) {
            if (method.getParameterCount() == 1 && method.getParameterTypes()[0].getName().startsWith("com.openai.models")) {
                method.invoke(builder, mapperOf(kind).readValue(body.toString(), method.getParameterTypes()[0]));
                return;
            }
        }
        throw new IllegalStateException("no body in " + kind);
    }

    private static void fillForm(Object builder, JsonNode request) throws Exception {
        JsonNode file = request.get("file");
        InputStream content = new ByteArrayInputStream(Base64.getDecoder().decode(file.get("base64").asText()));
        Object value = file.get("field").asText().equals("image")
                ? com.openai.models.images.ImageEditParams.Image.ofInputStream(content)
                : content;
        var part = com.openai.core.MultipartField.<Object>builder()
                .value(value)
                .filename(file.get("name").asText())
                .contentType(file.get("type").asText())
                .build();
        setter(builder, file.get("field").asText(), part.getClass()).invoke(builder, part);
        for (var one : (Iterable<Map.Entry<String, JsonNode>>) () -> request.path("body").fields()) {
            if (!one.getKey().equals("stream")) fillField(builder, one.getKey(), one.getValue());
        }
    }

    /** Set a field of a form: what the client requires by its setter, the rest as an additional one. */
    private static void fillField(Object builder, String name, JsonNode value) throws Exception {
        Method plain = setter(builder, camel(name), String.class);
        Method purpose = setter(builder, name, com.openai.models.files.FilePurpose.class);
        Method put = setter(builder, "putAdditionalBodyProperty", String.class, com.openai.core.JsonValue.class);
        if (plain != null) plain.invoke(builder, value.asText());
        else if (purpose != null) purpose.invoke(builder, com.openai.models.files.FilePurpose.of(value.asText()));
        else put.invoke(builder, name, com.openai.core.JsonValue.fromJsonNode(value));
    }

    private static Method setter(Object builder, String name, Class<?>... kinds) {
        try {
            return builder.getClass().getMethod(name, kinds);
        } catch (NoSuchMethodException none) {
            return null;
        }
    }

    private static ObjectMapper mapperOf(Class<?> kind) {
        boolean openai = kind.getName().startsWith("com.openai");
        return openai ? com.openai.core.ObjectMappers.jsonMapper() : com.anthropic.core.ObjectMappers.jsonMapper();
    }

    private static String pick(Object answer, String path) throws Exception {
        ObjectMapper mapper = mapperOf(answer.getClass());
        JsonNode found = JSON.readTree(mapper.writeValueAsString(answer));
        for (String name : path.split("\\.")) found = name.matches("\\d+") ? found.path(Integer.parseInt(name)) : found.path(name);
        return found.asText();
    }

    private static String camel(String name) {
        StringBuilder made = new StringBuilder();
        boolean raise = false;
        for (char letter : name.toCharArray()) {
            if (letter == '_') raise = true;
            else made.append(raise ? Character.toUpperCase(letter) : letter);
            if (letter != '_') raise = false;
        }
        return made.toString();
    }
}
