// The flag `--default-context-repository`: how its value is parsed, and the merge patch that replaces the repository
// context of a Context object by this value.

import { describe, expect, it } from 'vitest'
import { readRepositoryContext, replacementPatch } from '../../../workflows/landscaper/flag-values.ts'

describe('a repository context in a flag', () => {
  it('is a JSON object with a type that is a string; any other text gives undefined', () => {
    expect(readRepositoryContext('{"type":"OCIRegistry","baseUrl":"x"}')).toEqual({ type: 'OCIRegistry', baseUrl: 'x' })
    for (const text of ['', 'ghcr.io/acme', '"x"', '[]', 'null', '{}', '{"type":1}', '{"type":"x"'])
      expect(readRepositoryContext(text)).toBeUndefined()
  })

  it('becomes a merge patch that sets differing fields and removes surplus ones, or undefined if equal', () => {
    // replacementPatch(current, wanted). In a merge patch, null removes a field; a list is replaced as a whole.
    expect(replacementPatch(undefined, { type: 'a' })).toEqual({ type: 'a' })
    expect(replacementPatch({ type: 'a', old: 1, deep: { x: 1, y: 2 } }, { type: 'b', deep: { x: 1 } })).toEqual({
      type: 'b',
      old: null,
      deep: { y: null },
    })
    expect(replacementPatch({ deep: { x: [1] }, type: 'a' }, { type: 'a', deep: { x: [1] } })).toBeUndefined()
  })
})
