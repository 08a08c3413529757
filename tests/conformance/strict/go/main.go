// Program that makes the calls of a plan with the Go clients and prints what their types do not have of each answer.
//
// It reads the plan as JSON on its input: targets with their calls, as cases.py writes them. Each line of its output is
// the JSON of one call: how many answers and events there were, where they deviate, or why the call failed.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"os"
	"reflect"
	"strings"
)

// A plan is a list of targets.
type plan struct {
	Targets []target `json:"targets"`
}

// A target is an address of a vendor, and the calls of one client to it.
type target struct {
	Name       string            `json:"name"`
	Client     string            `json:"client"`
	URL        string            `json:"url"`
	Key        string            `json:"key"`
	APIVersion string            `json:"api_version"`
	Headers    map[string]string `json:"headers"`
	Calls      []json.RawMessage `json:"calls"`
}

// A request is one call: args are the ids in its path, save names what later calls take from its answer.
type request struct {
	Name   string            `json:"name"`
	Call   string            `json:"call"`
	Args   []string          `json:"args"`
	Body   json.RawMessage   `json:"body"`
	File   *upload           `json:"file"`
	Status int               `json:"status"`
	Save   map[string]string `json:"save"`
}

type upload struct {
	Field  string `json:"field"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Base64 string `json:"base64"`
}

type report struct {
	Target  string    `json:"target"`
	Call    string    `json:"call"`
	Name    string    `json:"name"`
	Answers int       `json:"answers"`
	Found   []finding `json:"found"`
	Failed  string    `json:"failed,omitempty"`
}

// A caller makes one call and returns its answers, or the error that the service sent with its status.
type caller func(ctx context.Context, asked request) ([]any, error)

func main() {
	var given plan
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	out := json.NewEncoder(os.Stdout)
	for _, one := range given.Targets {
		run(one, out)
	}
}

func run(one target, out *json.Encoder) {
	call := connectOpenAI(one)
	if one.Client == "anthropic" {
		call = connectAnthropic(one)
	}
	saved := map[string]string{}
	for _, text := range one.Calls {
		asked, err := fill(text, saved)
		said := report{Target: one.Name, Call: asked.Call, Name: asked.Name, Found: []finding{}}
		var answers []any
		if err == nil {
			answers, err = call(context.Background(), asked)
		}
		walked := &walker{found: said.Found}
		if broken := new(json.UnmarshalTypeError); asked.Status != 0 && errors.As(err, &broken) {
			answers = []any{nil} // the client cannot read text in place of an error
			walked.add("", "misfit")
		}
		if err = settle(asked, err); err != nil {
			said.Failed = err.Error()
		}
		for _, answer := range answers {
			walked.walk(reflect.ValueOf(answer), "")
		}
		said.Answers, said.Found = len(answers), walked.found
		for name, path := range asked.Save {
			if len(answers) > 0 {
				saved[name] = pick(answers[0], path)
			}
		}
		_ = out.Encode(said)
	}
}

// settle returns an error unless the call ended with the status that the plan has.
func settle(asked request, err error) error {
	status, text := statusOf(err)
	var misfit *json.UnmarshalTypeError
	switch {
	case asked.Status != 0 && errors.As(err, &misfit):
		return nil
	case status == asked.Status && status != 0:
		return nil
	case asked.Status != 0:
		return fmt.Errorf("status %d in place of %d: %v", status, asked.Status, err)
	case text != "":
		return errors.New(text)
	}
	return err
}

// fill puts what earlier answers gave into a call.
func fill(text json.RawMessage, saved map[string]string) (request, error) {
	filled := string(text)
	for name, value := range saved {
		filled = strings.ReplaceAll(filled, "{"+name+"}", value)
	}
	var asked request
	err := json.Unmarshal([]byte(filled), &asked)
	return asked, err
}

// pick returns the text at a path of an answer's JSON, such as `output.0.id`.
func pick(answer any, path string) string {
	value := reflect.ValueOf(answer)
	method := value.MethodByName("RawJSON")
	if !method.IsValid() {
		return ""
	}
	var found any
	_ = json.Unmarshal([]byte(method.Call(nil)[0].String()), &found)
	for _, key := range strings.Split(path, ".") {
		switch inner := found.(type) {
		case map[string]any:
			found = inner[key]
		case []any:
			var at int
			_, _ = fmt.Sscan(key, &at)
			if at >= len(inner) {
				return ""
			}
			found = inner[at]
		}
	}
	return fmt.Sprint(found)
}

// encode returns the content type and the bytes of a call's body.
func encode(asked request) (string, []byte) {
	if asked.File == nil {
		if asked.Body == nil {
			return "application/json", []byte("{}")
		}
		return "application/json", asked.Body
	}
	var buffer bytes.Buffer
	form := multipart.NewWriter(&buffer)
	fields := map[string]any{}
	_ = json.Unmarshal(asked.Body, &fields)
	for name, value := range fields {
		if many, ok := value.([]any); ok {
			for _, each := range many {
				_ = form.WriteField(name+"[]", fmt.Sprint(each))
			}
			continue
		}
		_ = form.WriteField(name, fmt.Sprint(value))
	}
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", fmt.Sprintf(`form-data; name=%q; filename=%q`, asked.File.Field, asked.File.Name))
	head.Set("Content-Type", asked.File.Type)
	part, _ := form.CreatePart(head)
	content, _ := base64.StdEncoding.DecodeString(asked.File.Base64)
	_, _ = io.Copy(part, bytes.NewReader(content))
	_ = form.Close()
	return form.FormDataContentType(), buffer.Bytes()
}

// A stream of either client.
type stream[T any] interface {
	Next() bool
	Current() T
	Err() error
	Close() error
}

func drain[T any](events stream[T]) ([]any, error) {
	defer func() { _ = events.Close() }()
	var found []any
	for events.Next() {
		found = append(found, events.Current())
	}
	return found, events.Err()
}

func one[T any](answer *T, err error) ([]any, error) {
	if err != nil || answer == nil {
		return nil, err
	}
	return []any{*answer}, nil
}

func list[T any](items []T, err error) ([]any, error) {
	found := []any{}
	for _, item := range items {
		found = append(found, item)
	}
	return found, err
}
