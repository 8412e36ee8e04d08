package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"

	"github.com/mandelsoft/spiff/dynaml"
	"github.com/mandelsoft/spiff/spiffing"
	"github.com/mandelsoft/spiff/yaml"
	"github.com/mandelsoft/vfs/pkg/memoryfs"
	"github.com/mandelsoft/vfs/pkg/vfs"
)

// Spiff reads URLs like files. Without this, how it fails would depend on the network stack that is compiled in.
func init() { http.DefaultTransport = noNetwork{} }

type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("templates have no network")
}

// renderSpiff processes one document. Its variables are the fields of the binding, its files those of the blueprint, in
// memory; without a real file system Spiff refuses to run programs.
func renderSpiff(wanted renderRequest, scope renderScope) (output string, state json.RawMessage, err error) {
	defer func() {
		// Spiff panics on some faults of a template. Nothing is left of a request, so the next one is not affected.
		if cause := recover(); cause != nil {
			err = fmt.Errorf("spiff cannot process the template: %v", cause)
		}
	}()
	files, err := memoryFiles(wanted.Files)
	if err != nil {
		return "", nil, stageError{"request", err}
	}
	variables, err := spiffVariables(wanted.Binding)
	if err != nil {
		return "", nil, stageError{"request", err}
	}
	spiff, err := spiffing.Plain().WithFileSystem(files).WithFunctions(spiffFunctions(scope)).WithValues(variables)
	if err != nil {
		return "", nil, stageError{"request", err}
	}
	template, err := spiffTemplate(wanted)
	if err != nil {
		return "", nil, err
	}
	states, err := spiffStates(wanted.State)
	if err != nil {
		return "", nil, stageError{"request", err}
	}
	result, err := spiff.Cascade(template, nil, states...)
	if err != nil {
		return "", nil, err
	}
	data, err := nodeToJSON(result, wanted.LimitBytes)
	if err != nil {
		return "", nil, err
	}
	if fields, isMap := spiff.DetermineState(result).Value().(map[string]yaml.Node); isMap && len(fields) > 0 {
		state, err = nodeToJSON(spiff.DetermineState(result), wanted.LimitBytes)
	}
	return string(data), state, err
}

func spiffTemplate(wanted renderRequest) (yaml.Node, error) {
	if wanted.Form != "json" {
		node, err := yaml.Unmarshal("template", wanted.Template)
		if err != nil {
			return nil, stageError{"parse", fmt.Errorf("template: %w", err)}
		}
		return node, nil
	}
	value, err := decodeSpiffJSON("template", wanted.Template)
	if err != nil {
		return nil, stageError{"request", err}
	}
	return yaml.Sanitize("template", value)
}

// What was the state the last time is a stub of the next: it goes where the template has a state node.
func spiffStates(state json.RawMessage) ([]yaml.Node, error) {
	value, err := decodeSpiffJSON("state", state)
	if err != nil || value == nil {
		return nil, err
	}
	node, err := yaml.Sanitize("state", value)
	return []yaml.Node{node}, err
}

func spiffVariables(binding json.RawMessage) (map[string]any, error) {
	value, err := decodeSpiffJSON("binding", binding)
	if err != nil {
		return nil, err
	}
	variables, isMap := value.(map[string]any)
	if !isMap {
		return nil, fmt.Errorf("binding: found %T, expected a map", value)
	}
	return variables, nil
}

func memoryFiles(files map[string]fileContent) (vfs.FileSystem, error) {
	tree := memoryfs.New()
	for name, content := range files {
		place := "/" + inTree(name)
		if err := tree.MkdirAll(path.Dir(place), os.ModePerm); err != nil {
			return nil, err
		}
		if err := vfs.WriteFile(tree, place, content, os.ModePerm); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

func nodeToJSON(node yaml.Node, limitBytes int) ([]byte, error) {
	value, err := yaml.Normalize(node)
	if err != nil {
		return nil, err
	}
	if err := checkTexts("the output", value); err != nil {
		return nil, err
	}
	data, err := json.Marshal(value)
	if err == nil && len(data) > limitBytes {
		return nil, errOutputLimit
	}
	return data, err
}

// spiffFunctions are those that the original adds to Spiff's own.
func spiffFunctions(scope renderScope) spiffing.Functions {
	functions := spiffing.NewFunctions()
	functions.RegisterFunction("parseOCIRef", ociFunction("parseOCIRef", func(parts [2]string) any {
		return []yaml.Node{dynaml.NewNode(parts[0], nil), dynaml.NewNode(parts[1], nil)}
	}))
	functions.RegisterFunction("ociRefRepo", ociFunction("ociRefRepo", func(parts [2]string) any { return parts[0] }))
	functions.RegisterFunction("ociRefVersion", ociFunction("ociRefVersion", func(parts [2]string) any { return parts[1] }))
	for name, function := range scope.component.spiffFunctions() {
		functions.RegisterFunction(name, onValues(name, function))
	}
	for name, function := range scope.kubeconfigs.functions() {
		functions.RegisterFunction(name, onValues(name, function))
	}
	return functions
}

// onValues runs a function on plain values in place of Spiff's nodes.
func onValues(name string, function func(...any) (any, error)) spiffing.Function {
	return func(arguments []any, _ dynaml.Binding) (any, dynaml.EvaluationInfo, bool) {
		info := dynaml.DefaultInfo()
		values := make([]any, len(arguments))
		for index, argument := range arguments {
			value, err := yaml.Normalize(yaml.NewNode(argument, name))
			if err != nil {
				return info.Error("%s: %s", name, err)
			}
			values[index] = value
		}
		result, err := function(values...)
		if err != nil {
			return info.Error("%s: %s", name, err)
		}
		node, err := yaml.Sanitize(name, result)
		if err != nil {
			return info.Error("%s: %s", name, err)
		}
		return node.Value(), info, true
	}
}

func ociFunction(name string, choose func([2]string) any) spiffing.Function {
	return func(arguments []any, _ dynaml.Binding) (any, dynaml.EvaluationInfo, bool) {
		info := dynaml.DefaultInfo()
		if len(arguments) != 1 {
			return info.Error("%s: found %d arguments, expected one reference", name, len(arguments))
		}
		ref, isText := arguments[0].(string)
		if !isText {
			return info.Error("%s: found no text, expected a reference", name)
		}
		return choose(parseOCIRef(ref)), info, true
	}
}
