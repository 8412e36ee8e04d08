package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
)

// mostExactFloat is the largest integer up to which a float64 holds every integer.
const mostExactFloat = 1<<53 - 1

// decodeJSON reads JSON as encoding/json does, except that no integer loses a digit: integers that a float64 may not hold become
// int64, uint64 or *big.Int. All other numbers are float64, as templates of the original know them.
func decodeJSON(data []byte) (any, error) {
	return decodeNumbers(data, func(_ string, number json.Number) (any, error) {
		whole, isWhole := new(big.Int).SetString(number.String(), 10)
		switch {
		case !isWhole || whole.IsInt64() && whole.Int64() >= -mostExactFloat && whole.Int64() <= mostExactFloat:
			return number.Float64()
		case whole.IsInt64():
			return whole.Int64(), nil
		case whole.IsUint64():
			return whole.Uint64(), nil
		default:
			return whole, nil
		}
	})
}

// decodeSpiffJSON keeps integers whole, as in a template that contains them. The original makes them floats, which Spiff can neither
// append to a text nor count with; only a division of two integers shows the difference. Spiff has no integers beyond 64 bits.
func decodeSpiffJSON(what string, data []byte) (any, error) {
	if len(data) == 0 {
		return nil, nil
	}
	return decodeNumbers(data, func(path string, number json.Number) (any, error) {
		if whole, err := number.Int64(); err == nil {
			return whole, nil
		}
		if !strings.ContainsAny(number.String(), ".eE") {
			return nil, fmt.Errorf("%s: field %q: Spiff cannot hold the integer %s; expected at least %d and at most %d, or a text", what, path, number, math.MinInt64, math.MaxInt64)
		}
		return number.Float64()
	})
}

func decodeNumbers(data []byte, convert func(path string, number json.Number) (any, error)) (any, error) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("found more than one value, expected one")
	}
	return withNumbers(value, "", convert)
}

func withNumbers(value any, path string, convert func(string, json.Number) (any, error)) (any, error) {
	var err error
	switch found := value.(type) {
	case json.Number:
		return convert(path, found)
	case map[string]any:
		for key, entry := range found {
			if found[key], err = withNumbers(entry, strings.TrimPrefix(path+"."+key, "."), convert); err != nil {
				return nil, err
			}
		}
	case []any:
		for index, entry := range found {
			if found[index], err = withNumbers(entry, fmt.Sprintf("%s[%d]", path, index), convert); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// checkYAMLNumbers refuses what the YAML writer would print as a float.
func checkYAMLNumbers(value any, path string) error {
	switch found := value.(type) {
	case *big.Int:
		return fmt.Errorf("toYaml: field %q: YAML cannot hold the integer %s; expected at most %d, or a text", path, found, uint64(math.MaxUint64))
	case map[string]any:
		for key, entry := range found {
			if err := checkYAMLNumbers(entry, strings.TrimPrefix(path+"."+key, ".")); err != nil {
				return err
			}
		}
	case []any:
		for index, entry := range found {
			if err := checkYAMLNumbers(entry, fmt.Sprintf("%s[%d]", path, index)); err != nil {
				return err
			}
		}
	}
	return nil
}
