package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"testing/fstest"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// templateFunctions are sprig's, without those that would show the machine or its network, and those of blueprints.
func templateFunctions(r *renderer) template.FuncMap {
	funcs := template.FuncMap(sprig.TxtFuncMap())
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(funcs, name)
	}
	funcs["include"] = r.include
	funcs["readFile"] = r.files.read
	funcs["readDir"] = r.files.list
	funcs["toYaml"] = toYAML
	funcs["fromYaml"] = fromYAML
	funcs["mustFromJson"] = func(text string) (any, error) { return decodeJSON([]byte(text)) }
	// Sprig's own ignores the error, too.
	funcs["fromJson"] = func(text string) any { value, _ := decodeJSON([]byte(text)); return value }
	funcs["parseOCIRef"] = parseOCIRef
	funcs["ociRefRepo"] = func(ref string) string { return parseOCIRef(ref)[0] }
	funcs["ociRefVersion"] = func(ref string) string { return parseOCIRef(ref)[1] }
	maps.Copy(funcs, r.scope.component.goFunctions())
	maps.Copy(funcs, r.scope.kubeconfigs.goFunctions())
	return funcs
}

func toYAML(value any) (string, error) {
	if err := checkYAMLNumbers(value, ""); err != nil {
		return "", err
	}
	data, err := yaml.Marshal(value)
	return strings.TrimSuffix(string(data), "\n"), err
}

// fromYAML takes text or, so that it can follow readFile, bytes.
func fromYAML(source any) (any, error) {
	var data []byte
	switch text := source.(type) {
	case string:
		data = []byte(text)
	case []byte:
		data = text
	default:
		return nil, fmt.Errorf("found %T, expected text", source)
	}
	converted, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, err
	}
	return decodeJSON(converted)
}

// parseOCIRef splits a reference into repository and version: the digest if there is one, else the tag, else nothing.
func parseOCIRef(ref string) [2]string {
	if repository, digest, found := strings.Cut(ref, "@"); found {
		return [2]string{repository, digest}
	}
	// A colon before the last slash belongs to a port.
	if colon := strings.LastIndex(ref, ":"); colon > strings.LastIndex(ref, "/") {
		return [2]string{ref[:colon], ref[colon+1:]}
	}
	return [2]string{ref, ""}
}

// blueprintFiles are the files of a request; `/a`, `./a` and `a` are the same file.
type blueprintFiles struct{ tree fstest.MapFS }

func newBlueprintFiles(files map[string]fileContent) blueprintFiles {
	tree := fstest.MapFS{}
	for name, content := range files {
		tree[inTree(name)] = &fstest.MapFile{Data: content}
	}
	return blueprintFiles{tree}
}

func inTree(name string) string {
	if cleaned := strings.TrimPrefix(path.Clean("/"+name), "/"); cleaned != "" {
		return cleaned
	}
	return "."
}

func (b blueprintFiles) read(name string) ([]byte, error) {
	data, err := b.tree.ReadFile(inTree(name))
	if err != nil {
		return nil, fmt.Errorf("file %q: not found in the blueprint", name)
	}
	return data, nil
}

func (b blueprintFiles) list(name string) ([]fs.FileInfo, error) {
	entries, err := b.tree.ReadDir(inTree(name))
	if err != nil {
		return nil, fmt.Errorf("directory %q: not found in the blueprint", name)
	}
	infos := make([]fs.FileInfo, 0, len(entries))
	var failed error
	for _, entry := range entries {
		info, err := entry.Info()
		infos, failed = append(infos, info), errors.Join(failed, err)
	}
	return infos, failed
}
