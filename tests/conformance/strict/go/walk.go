package main

import (
	"encoding/json"
	"reflect"
	"strings"
)

// A finding is one place of an answer that the client's types do not have as it is.
type finding struct {
	Place string `json:"place"`
	Kind  string `json:"kind"`
}

// A raw field of either client's package respjson.
type rawField interface {
	Valid() bool
	Raw() string
}

type walker struct {
	found []finding
}

func (w *walker) add(place, kind string) {
	if place == "" {
		place = "."
	}
	w.found = append(w.found, finding{place, kind})
}

// walk compares a decoded value, at any depth, with what its struct says of its JSON.
func (w *walker) walk(value reflect.Value, place string) {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			w.walk(value.Elem(), place)
		}
	case reflect.Slice:
		for i := range value.Len() {
			w.walk(value.Index(i), place+"[]")
		}
	case reflect.Map:
		for _, key := range value.MapKeys() {
			w.walk(value.MapIndex(key), place+"."+key.String())
		}
	case reflect.Struct:
		w.walkStruct(value, place)
	}
}

func (w *walker) walkStruct(value reflect.Value, place string) {
	meta := value.FieldByName("JSON")
	if !meta.IsValid() {
		return
	}
	extra := meta.FieldByName("ExtraFields")
	if !extra.IsValid() {
		w.walkUnion(value, place)
		return
	}
	known := namesOf(value.Type())
	for _, key := range extra.MapKeys() {
		if !known[key.String()] {
			w.add(place+"."+key.String(), "unknown")
		}
	}
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if field.Name == "JSON" {
			continue
		}
		if field.Anonymous {
			w.walkEmbedded(value.Field(i), place)
			continue
		}
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			w.walkField(field, value.Field(i), raw(meta, field.Name), place+"."+name)
		}
	}
}

// namesOf returns the names in JSON of a struct's own and embedded fields.
func namesOf(kind reflect.Type) map[string]bool {
	found := map[string]bool{}
	for i := range kind.NumField() {
		field := kind.Field(i)
		if field.Anonymous {
			for name := range namesOf(field.Type) {
				found[name] = true
			}
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		found[name] = true
	}
	return found
}

// walkEmbedded leaves out unknown fields, which may be those of the struct around.
func (w *walker) walkEmbedded(value reflect.Value, place string) {
	inner := &walker{}
	inner.walkStruct(value, place)
	for _, one := range inner.found {
		if one.Kind != "unknown" {
			w.found = append(w.found, one)
		}
	}
}

func (w *walker) walkField(field reflect.StructField, value reflect.Value, raw rawField, place string) {
	if raw == nil {
		return
	}
	wanted, constant := field.Tag.Get("api"), field.Tag.Get("default")
	switch {
	case raw.Raw() == "":
		if strings.Contains(wanted, "required") || constant != "" {
			w.add(place, "missing")
		}
	case raw.Raw() == "null":
		if !isNullable(field.Type, wanted) {
			w.add(place, "null")
		}
	case !raw.Valid():
		w.add(place, "misfit")
	case constant != "" && value.Kind() == reflect.String && raw.Raw() != quote(constant):
		w.add(place, "misfit")
	default:
		w.walk(value, place)
	}
}

// walkUnion goes into the variant that fits best; a union that has none for the value is a misfit.
func (w *walker) walkUnion(value reflect.Value, place string) {
	text := value.MethodByName("RawJSON").Call(nil)[0].String()
	best := &walker{}
	best.add(place, "misfit")
	for i := range value.NumMethod() {
		method := value.Type().Method(i)
		if !strings.HasPrefix(method.Name, "As") || method.Type.NumIn() != 1 || method.Type.NumOut() != 1 {
			continue
		}
		variant := value.Method(i).Call(nil)[0]
		if !fits(variant, text) {
			continue
		}
		tried := &walker{}
		tried.walk(variant, place)
		if isMisfit(best, place) || tried.weigh(place) < best.weigh(place) {
			best = tried
		}
	}
	w.found = append(w.found, best.found...)
}

// weigh returns how far a variant is from a value: one of another type or role is not meant at all.
func (w *walker) weigh(place string) int {
	total := len(w.found)
	for _, one := range w.found {
		if one.Place == place+".type" || one.Place == place+".role" {
			total += 1000
		}
	}
	return total
}

// isMisfit returns whether nothing was found but that a value has no variant.
func isMisfit(w *walker, place string) bool {
	return len(w.found) == 1 && w.found[0].Kind == "misfit" && (w.found[0].Place == place || place == "")
}

// fits returns whether text is JSON of the kind that a variant decodes.
func fits(variant reflect.Value, text string) bool {
	if variant.Kind() == reflect.Pointer || variant.Kind() == reflect.Interface {
		return !variant.IsNil() && fits(variant.Elem(), text)
	}
	first := text[:min(1, len(text))]
	switch variant.Kind() {
	case reflect.Struct, reflect.Map:
		return first == "{"
	case reflect.Slice:
		return first == "["
	case reflect.String:
		return first == `"`
	case reflect.Bool:
		return first == "t" || first == "f"
	default:
		return first != "{" && first != "[" && first != `"`
	}
}

// raw returns what the metadata has of a field of a struct.
func raw(meta reflect.Value, name string) rawField {
	found := meta.FieldByName(name)
	if !found.IsValid() {
		return nil
	}
	field, _ := found.Interface().(rawField)
	return field
}

// isNullable returns whether null is no misfit; of required fields the clients do not keep whether they are nullable.
func isNullable(kind reflect.Type, wanted string) bool {
	return wanted != "" || kind.Kind() == reflect.Interface
}

func quote(text string) string {
	encoded, _ := json.Marshal(text)
	return string(encoded)
}
