package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// A componentScope is what a template may ask of the component version that its blueprint is of, and of those that it
// refers to. A nil one says in each function that there is none.
type componentScope struct {
	own map[string]any
	all []any
	// By the key of a resource, see contentKey.
	contents map[string]fileContent
	// Places of contents that were asked for and are not there: the caller looks them up and renders anew.
	wanted []contentPlace
}

// A contentPlace is the index of a resource in a component's list.
type contentPlace struct {
	Component string `json:"component"`
	Version   string `json:"version"`
	Index     int    `json:"index"`
}

// The parts of a descriptor that both of its schemas have.
type descriptor struct {
	name, version        string
	resources            []any
	references, contexts []any
}

var errNoComponent = errors.New("found no component, expected spec.componentDescriptor in the installation")

// newComponentScope takes the descriptors from the binding, where templates see them, too.
func newComponentScope(wanted renderRequest) (*componentScope, error) {
	if wanted.Contents == nil {
		return nil, nil
	}
	binding, err := decodeJSON(wanted.Binding)
	own, _ := fieldsOf(binding)["cd"].(map[string]any)
	all, _ := fieldsOf(fieldsOf(binding)["components"])["components"].([]any)
	return &componentScope{own: own, all: all, contents: wanted.Contents}, err
}

func (s *componentScope) wantedContents() []contentPlace {
	if s == nil {
		return nil
	}
	return s.wanted
}

func (s *componentScope) goFunctions() template.FuncMap {
	return template.FuncMap{
		"getResource":  s.resource,
		"getResources": s.resources,
		"getComponent": s.component,
		"getRepositoryContext": func(cd map[string]any) any {
			if contexts := partsOf(cd).contexts; len(contexts) > 0 {
				return contexts[len(contexts)-1]
			}
			return nil
		},
		"getResourceKey":     s.resourceKey,
		"getResourceContent": s.resourceContent,
	}
}

// spiffFunctions are those that the original has; the variables cd and components serve for the rest.
func (s *componentScope) spiffFunctions() map[string]func(...any) (any, error) {
	onReference := func(function func(string) (string, error)) func(...any) (any, error) {
		return func(arguments ...any) (any, error) {
			if len(arguments) != 1 {
				return nil, fmt.Errorf("found %d arguments, expected one reference", len(arguments))
			}
			reference, isText := arguments[0].(string)
			if !isText {
				return nil, errors.New("found no text, expected a reference")
			}
			return function(reference)
		}
	}
	return map[string]func(...any) (any, error){
		"getResource":        s.resource,
		"getComponent":       s.component,
		"getResourceKey":     onReference(s.resourceKey),
		"getResourceContent": onReference(s.resourceContent),
	}
}

func (s *componentScope) resource(arguments ...any) (any, error) {
	found, err := s.resources(arguments...)
	return first(found, err)
}

// resources are those of a descriptor, the own one unless another is the first argument, that have all of the given values.
func (s *componentScope) resources(arguments ...any) ([]any, error) {
	cd, pairs, err := s.choose(arguments)
	if err != nil {
		return nil, err
	}
	found := entriesWith(partsOf(cd).resources, pairs)
	if len(found) == 0 {
		return nil, fmt.Errorf("found no resource with %s in component %s", printPairs(pairs), titleOf(cd))
	}
	return found, nil
}

// component is the descriptor of the first reference that has all of the given values.
func (s *componentScope) component(arguments ...any) (any, error) {
	cd, pairs, err := s.choose(arguments)
	if err != nil {
		return nil, err
	}
	reference, err := first(entriesWith(partsOf(cd).references, pairs), nil)
	if err != nil {
		return nil, fmt.Errorf("found no component reference with %s in component %s", printPairs(pairs), titleOf(cd))
	}
	return s.referred(fieldsOf(reference))
}

func (s *componentScope) referred(reference map[string]any) (map[string]any, error) {
	name, version := textOf(reference["componentName"]), textOf(reference["version"])
	for _, entry := range s.all {
		cd := fieldsOf(entry)
		if parts := partsOf(cd); parts.name == name && parts.version == version {
			return cd, nil
		}
	}
	return nil, fmt.Errorf("found no component %s:%s among the components", name, version)
}

func (s *componentScope) choose(arguments []any) (map[string]any, [][2]string, error) {
	if s == nil {
		return nil, nil, errNoComponent
	}
	cd := s.own
	if len(arguments) > 0 {
		if given, isMap := arguments[0].(map[string]any); isMap {
			cd, arguments = given, arguments[1:]
		}
	}
	if len(arguments)%2 != 0 {
		return nil, nil, fmt.Errorf("found %d arguments, expected pairs of a key and a value", len(arguments))
	}
	pairs := make([][2]string, 0, len(arguments)/2)
	for pair := range slices.Chunk(arguments, 2) {
		key, isText := pair[0].(string)
		value, isValueText := pair[1].(string)
		if !isText || !isValueText {
			return nil, nil, errors.New("found an argument that is no text, expected pairs of a key and a value")
		}
		pairs = append(pairs, [2]string{key, value})
	}
	return cd, pairs, nil
}

// A resourceReference leads from the own component through references to a resource, as OCM writes it.
type resourceReference struct {
	Resource map[string]string   `json:"resource"`
	Path     []map[string]string `json:"referencePath"`
}

// resolve takes `cd://componentReferences/NAME/resources/NAME` and references as OCM writes them, as YAML or JSON.
func (s *componentScope) resolve(text string) (map[string]any, int, error) {
	if s == nil {
		return nil, 0, errNoComponent
	}
	reference, err := parseResourceReference(text)
	if err != nil {
		return nil, 0, err
	}
	cd := s.own
	for _, step := range reference.Path {
		found, err := first(entriesWith(partsOf(cd).references, pairsOf(step)), nil)
		if err != nil {
			return nil, 0, fmt.Errorf("found no component reference with %s in component %s", printPairs(pairsOf(step)), titleOf(cd))
		}
		if cd, err = s.referred(fieldsOf(found)); err != nil {
			return nil, 0, err
		}
	}
	for index, entry := range partsOf(cd).resources {
		if hasAll(fieldsOf(entry), pairsOf(reference.Resource)) {
			return cd, index, nil
		}
	}
	return nil, 0, fmt.Errorf("found no resource with %s in component %s", printPairs(pairsOf(reference.Resource)), titleOf(cd))
}

func parseResourceReference(text string) (resourceReference, error) {
	var reference resourceReference
	path, isURI := strings.CutPrefix(text, "cd://")
	if !isURI {
		if err := yaml.Unmarshal([]byte(text), &reference); err != nil || len(reference.Resource) == 0 {
			return reference, errors.New("found no reference of a resource, expected cd://resources/NAME, or a map with resource and referencePath")
		}
		return reference, nil
	}
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for pair := range slices.Chunk(parts, 2) {
		switch {
		case len(pair) == 2 && pair[0] == "componentReferences" && reference.Resource == nil:
			reference.Path = append(reference.Path, map[string]string{"name": pair[1]})
		case len(pair) == 2 && pair[0] == "resources" && reference.Resource == nil:
			reference.Resource = map[string]string{"name": pair[1]}
		default:
			reference.Resource = nil
			return reference, fmt.Errorf("found %s, expected cd://componentReferences/NAME/resources/NAME, or cd://resources/NAME", text)
		}
	}
	if reference.Resource == nil {
		return reference, fmt.Errorf("found %s, expected resources/NAME at its end", text)
	}
	return reference, nil
}

// resourceKey names a resource of whatever component, for deployers.
func (s *componentScope) resourceKey(reference string) (string, error) {
	cd, index, err := s.resolve(reference)
	if err != nil {
		return "", err
	}
	parts := partsOf(cd)
	key, err := yaml.Marshal(map[string]any{
		"component": map[string]any{"name": parts.name, "version": parts.version},
		"resource":  identityOf(parts.resources, index),
	})
	return base64.StdEncoding.EncodeToString(key), err
}

func (s *componentScope) resourceContent(reference string) (string, error) {
	cd, index, err := s.resolve(reference)
	if err != nil {
		return "", err
	}
	parts := partsOf(cd)
	place := contentPlace{parts.name, parts.version, index}
	if content, isThere := s.contents[place.contentKey()]; isThere {
		return string(content), nil
	}
	s.wanted = append(s.wanted, place)
	return "", errors.New("the content of the resource is not there yet")
}

// contentKey is that of activities/landscaper/render/resource-contents.ts.
func (p contentPlace) contentKey() string {
	return fmt.Sprintf("%s:%s#%d", p.Component, p.Version, p.Index)
}

// identityOf is the name with what is set beside it, and the version where these do not tell resources apart.
func identityOf(resources []any, index int) map[string]string {
	own := plainIdentity(fieldsOf(resources[index]))
	for other, entry := range resources {
		if other != index && printPairs(pairsOf(plainIdentity(fieldsOf(entry)))) == printPairs(pairsOf(own)) {
			own["version"] = textOf(fieldsOf(resources[index])["version"])
			break
		}
	}
	return own
}

func plainIdentity(entry map[string]any) map[string]string {
	identity := map[string]string{"name": textOf(entry["name"])}
	for key, value := range fieldsOf(entry["extraIdentity"]) {
		identity[key] = textOf(value)
	}
	return identity
}

func partsOf(cd map[string]any) descriptor {
	if component, isV2 := cd["component"].(map[string]any); isV2 {
		return descriptor{
			textOf(component["name"]), textOf(component["version"]),
			listOf(component["resources"]), listOf(component["componentReferences"]), listOf(component["repositoryContexts"]),
		}
	}
	metadata, spec := fieldsOf(cd["metadata"]), fieldsOf(cd["spec"])
	return descriptor{
		textOf(metadata["name"]), textOf(metadata["version"]),
		listOf(spec["resources"]), listOf(spec["references"]), listOf(cd["repositoryContexts"]),
	}
}

func titleOf(cd map[string]any) string {
	parts := partsOf(cd)
	return parts.name + ":" + parts.version
}

func entriesWith(entries []any, pairs [][2]string) []any {
	found := []any{}
	for _, entry := range entries {
		if hasAll(fieldsOf(entry), pairs) {
			found = append(found, entry)
		}
	}
	return found
}

// What identifies an entry beside its own fields counts like these.
func hasAll(entry map[string]any, pairs [][2]string) bool {
	extra := fieldsOf(entry["extraIdentity"])
	for _, pair := range pairs {
		if textOf(entry[pair[0]]) != pair[1] && textOf(extra[pair[0]]) != pair[1] {
			return false
		}
	}
	return true
}

func pairsOf(fields map[string]string) [][2]string {
	pairs := make([][2]string, 0, len(fields))
	for key, value := range fields {
		pairs = append(pairs, [2]string{key, value})
	}
	slices.SortFunc(pairs, func(left, right [2]string) int { return strings.Compare(left[0], right[0]) })
	return pairs
}

func printPairs(pairs [][2]string) string {
	texts := make([]string, 0, len(pairs))
	for _, pair := range pairs {
		texts = append(texts, pair[0]+" "+pair[1])
	}
	return strings.Join(texts, ", ")
}

func first(entries []any, err error) (any, error) {
	if err == nil && len(entries) == 0 {
		err = errors.New("found none")
	}
	if err != nil {
		return nil, err
	}
	return entries[0], nil
}

func fieldsOf(value any) map[string]any {
	fields, _ := value.(map[string]any)
	return fields
}

func listOf(value any) []any {
	list, _ := value.([]any)
	return list
}

func textOf(value any) string {
	text, _ := value.(string)
	return text
}
