import com.fasterxml.jackson.annotation.JsonProperty;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Walk of an answer, at any depth: no field is missing, unknown or of another type, and validate() agrees. */
final class Walk {
    record Finding(String place, String kind) {}

    /** Text in place of an object. */
    record Text() {}

    final List<Finding> found = new ArrayList<>();

    void walk(Object value, String place) {
        if (value == null) return;
        if (value instanceof Text) found.add(new Finding(orDot(place), "misfit"));
        if (value instanceof Optional<?> held) held.ifPresent(inner -> walk(inner, place));
        else if (value instanceof Collection<?> many) many.forEach(inner -> walk(inner, place + "[]"));
        else if (value instanceof Map<?, ?> named) named.forEach((name, inner) -> walk(inner, place + "." + name));
        else if (value.getClass().getName().matches("com\\.(openai|anthropic)\\.models\\..*")) walkModel(value, place);
    }

    private void walkModel(Object value, String place) {
        Class<?> kind = value.getClass();
        int before = found.size();
        if (has(kind, "_additionalProperties")) walkFields(value, place);
        else if (has(kind, "_json")) walkUnion(value, place);
        String refused = has(kind, "validate") ? refusalOf(value, "validate") : null;
        if (refused != null && found.size() == before) found.add(new Finding(orDot(place), "misfit"));
    }

    private void walkFields(Object value, String place) {
        List<Method> fields = methods(value).stream()
                .filter(one -> one.isAnnotationPresent(JsonProperty.class))
                .filter(one -> one.getName().startsWith("_") && isField(one.getReturnType()))
                .toList();
        if (fields.isEmpty()) return; // a map of any names
        ((Map<?, ?>) call(value, "_additionalProperties"))
                .keySet()
                .forEach(name -> found.add(new Finding(place + "." + name, "unknown")));
        for (Method method : fields) {
            walkField(value, method, place + "." + method.getAnnotation(JsonProperty.class).value());
        }
    }

    private void walkField(Object value, Method method, String place) {
        Object field = call(value, method.getName());
        boolean optional = isOptional(value.getClass(), method.getName().substring(1));
        if ((boolean) call(field, "isMissing")) {
            if (!optional) found.add(new Finding(place, "missing"));
        } else if ((boolean) call(field, "isNull")) {
            if (!optional) found.add(new Finding(place, "null"));
        } else if (method.getReturnType().getSimpleName().equals("JsonField")) {
            Optional<?> known = (Optional<?>) call(field, "asKnown");
            if (known.isEmpty()) found.add(new Finding(place, "misfit"));
            else walk(known.get(), place);
        }
    }

    /** Go into the variant that is there; a union without one is a misfit. */
    private void walkUnion(Object value, String place) {
        boolean any = false;
        for (Method method : methods(value)) {
            if (method.getReturnType() == Optional.class && !method.getName().startsWith("_")) {
                Optional<?> variant = (Optional<?>) call(value, method.getName());
                any |= variant.isPresent();
                walk(variant, place);
            }
        }
        if (!any) found.add(new Finding(orDot(place), "misfit"));
    }

    private static List<Method> methods(Object value) {
        return Arrays.stream(value.getClass().getMethods())
                .filter(one -> one.getParameterCount() == 0)
                .sorted(Comparator.comparing(Method::getName))
                .toList();
    }

    private static boolean isField(Class<?> kind) {
        return kind.getSimpleName().equals("JsonField") || kind.getSimpleName().equals("JsonValue");
    }

    /** Constants have no second accessor: they are required. */
    private static boolean isOptional(Class<?> kind, String accessor) {
        try {
            return kind.getMethod(accessor).getReturnType() == Optional.class;
        } catch (NoSuchMethodException none) {
            return false;
        }
    }

    static boolean has(Class<?> kind, String name) {
        return Arrays.stream(kind.getMethods()).anyMatch(one -> one.getName().equals(name) && one.getParameterCount() == 0);
    }

    static Object call(Object value, String name) {
        try {
            Method method = value.getClass().getMethod(name);
            method.setAccessible(true);
            return method.invoke(value);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(value.getClass() + "." + name, error);
        }
    }

    private static String refusalOf(Object value, String name) {
        try {
            value.getClass().getMethod(name).invoke(value);
            return null;
        } catch (InvocationTargetException error) {
            return String.valueOf(error.getCause().getMessage());
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static String orDot(String place) {
        return place.isEmpty() ? "." : place;
    }
}
