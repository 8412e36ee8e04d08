// Writes YAML that readers of YAML 1.1 (kubectl, Go) and of YAML 1.2 read alike: texts such as on, no, 0400 or 1_000 are quoted, and so are keys.

import { Document, isScalar, visit } from 'yaml'
import { GO_INTEGERS } from './go-tags.ts'

// Go's reader takes these for line breaks, or rejects them, unless they are escaped; JSON's escapes leave some of them as they are.

const UNSAFE = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/
const UNESCAPED = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g
// Texts that some readers take for a marker of documents, a merge of maps, or the value of a map.
const MARKERS = /^(?:---|\.\.\.|<<$|=$)/

// As a block such a text would depend on how a reader counts indentation.
const UNSAFE_BLOCK = /^[ \n]+[^]*\n|\n[ ]+(?:\n|$)|^[ ]+\n/

/** @param value as JSON has it, also with bigints; without cycles. Long lines are not folded, and nothing is written as an alias. */
export function writeYaml(value: unknown): string {
  const document = new Document(value, {
    compat: 'yaml-1.1',
    customTags: (tags) => [...tags, ...GO_INTEGERS],
    aliasDuplicateObjects: false,
  })
  visit(document, {
    Scalar(_, node) {
      if (
        isScalar<string>(node) &&
        typeof node.value === 'string' &&
        [UNSAFE, UNSAFE_BLOCK, MARKERS].some((form) => form.test(node.value))
      )
        node.type = 'QUOTE_DOUBLE'
    },
  })
  return document
    .toString({ lineWidth: 0 })
    .replace(UNESCAPED, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
