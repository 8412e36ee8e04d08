package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// fileContent are the bytes of a file, which in a request are a JSON string or, where they are not UTF-8, {"base64": ...};
// see activities/landscaper/render/file-content.ts.
type fileContent []byte

func (c *fileContent) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		err := json.Unmarshal(data, &text)
		*c = fileContent(text)
		return err
	}
	var packed struct {
		Base64 *[]byte `json:"base64"`
	}
	if err := json.Unmarshal(data, &packed); err != nil {
		return err
	}
	if packed.Base64 == nil {
		return errors.New("content of a file: found no base64, expected text or bytes")
	}
	*c = *packed.Base64
	return nil
}

// checkText refuses what an answer, which is JSON, could only give with replacement characters; so does the original, whose
// YAML has to be UTF-8.
func checkText(what, text string) error {
	for at := 0; at < len(text); {
		char, size := utf8.DecodeRuneInString(text[at:])
		if char == utf8.RuneError && size == 1 {
			return fmt.Errorf("%s: found bytes that are not UTF-8 (the first at %d), expected text, e.g. by b64enc", what, at)
		}
		at += size
	}
	return nil
}

// checkTexts does the same for all texts of a document, its keys included.
func checkTexts(what string, value any) error {
	switch found := value.(type) {
	case string:
		return checkText(what, found)
	case map[string]any:
		for key, entry := range found {
			if err := errors.Join(checkText("a key of "+what, key), checkTexts(what, entry)); err != nil {
				return err
			}
		}
	case []any:
		for _, entry := range found {
			if err := checkTexts(what, entry); err != nil {
				return err
			}
		}
	}
	return nil
}
