// Tests the ESLint rules of eslint/prose.js.

import { Linter } from 'eslint'
import { describe, expect, it } from 'vitest'

import { prose } from '../../eslint/prose.js'

function messagesOf(code: string): readonly string[] {
  const rules = { 'prose/sentences': 'error', 'prose/names': 'error' } as const
  return new Linter().verify(code, [{ plugins: { prose }, rules }]).map(({ message }) => message)
}

describe('The prose rules of ESLint', () => {
  it.each([
    ['// What is read at run time.', 'What'],
    ['/** The rights. Who asks gets them. */', 'Who'],
    ['// A long line\n// whose text is told twice.', 'is told'],
    ["describe('a job', () => it('is told of its end', f))", 'is told'],
    ["it.each([1])('One that waits for %s', f)", 'One that'],
    ['const told = 1', 'told'],
    ['function f({ kept }) { return kept }', 'kept'],
  ])('refuse %j', (code, part) => {
    expect(messagesOf(code)).toEqual([expect.stringContaining(part) as string])
  })

  it.each([
    '// The bridge reports the version. Somewhat later it lists the kind.',
    '// The API server returns the text `What is told`.',
    '// What happens after a crash?',
    "it('reports the end of a job', f)",
    'const report = { told: 1 }',
  ])('accept %j', (code) => {
    expect(messagesOf(code)).toEqual([])
  })
})
