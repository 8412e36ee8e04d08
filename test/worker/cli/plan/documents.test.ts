import { describe, expect, it } from 'vitest'

import { documentsIn } from '../../../../worker/cli/plan/documents.ts'

const read = (content: string) => {
  const problems: string[] = []
  return {
    found: documentsIn('shop.yaml', content, problems).map(({ at, object }) => `${at}: ${object.metadata.name}`),
    problems,
  }
}

describe('the manifests of a plan', () => {
  it('contain all documents and all items of lists, with their positions', () => {
    const list = '{kind: List, items: [{apiVersion: v1, kind: X, metadata: {name: b}}]}'
    expect(read(`apiVersion: v1\nkind: X\nmetadata: {name: a}\n---\n---\n${list}\n`)).toEqual({
      found: ['shop.yaml, document 1: a', 'shop.yaml, document 3, items[0]: b'],
      problems: [],
    })
    expect(read('')).toEqual({ found: [], problems: [] })
  })

  it('are refused with position and reason, without their values', () => {
    expect(read('kind: X\n').problems).toEqual([
      'shop.yaml: apiVersion, metadata.name are missing; expected a Kubernetes object',
    ])
    const [problem] = read('a: 1\n---\npassword: [secret\n').problems.slice(-1)
    expect(problem).toMatch(/^shop.yaml, document 2: line \d+, column \d+: invalid YAML: /)
    expect(problem).not.toContain('secret')
  })
})
