import { describe, expect, it } from 'vitest'
import { readRepositoryContext, replacementPatch } from '../../../workflows/landscaper/flag-values.ts'

describe('a repository context in a flag', () => {
  it('is a JSON object with a type', () => {
    expect(readRepositoryContext('{"type":"OCIRegistry","baseUrl":"x"}')).toEqual({ type: 'OCIRegistry', baseUrl: 'x' })
    for (const text of ['', 'ghcr.io/acme', '"x"', '[]', 'null', '{}', '{"type":1}', '{"type":"x"'])
      expect(readRepositoryContext(text)).toBeUndefined()
  })

  it('becomes a patch that replaces all current fields, or no patch if nothing differs', () => {
    expect(replacementPatch(undefined, { type: 'a' })).toEqual({ type: 'a' })
    expect(replacementPatch({ type: 'a', old: 1, deep: { x: 1, y: 2 } }, { type: 'b', deep: { x: 1 } })).toEqual({
      type: 'b',
      old: null,
      deep: { y: null },
    })
    expect(replacementPatch({ deep: { x: [1] }, type: 'a' }, { type: 'a', deep: { x: [1] } })).toBeUndefined()
  })
})
