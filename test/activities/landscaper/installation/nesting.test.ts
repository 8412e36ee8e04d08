// How deeply sub-installations may be nested.

import { describe, expect, it } from 'vitest'
import { checkNesting, MAX_NESTING, pathBelow } from '../../../../activities/landscaper/installation/parent.ts'
import { API } from '../../../support/cluster/cluster.ts'

const owner = { apiVersion: API, kind: 'Installation', uid: 'u', name: 'parent', controller: true }
const one = (name: string, path?: string, isSub = path !== undefined) => ({
  metadata: {
    name,
    namespace: 'n',
    uid: name,
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '',
    ...(path !== undefined && { annotations: { 'landscaper.gardener.cloud/pawl-path': path } }),
    ...(isSub && { ownerReferences: [owner] }),
  },
})
const deep = (levels: number) => ['root', ...Array.from({ length: levels }, (_, index) => `l${index + 1}`)].join('/')

describe('the path of a sub-installation', () => {
  it('begins with the name of the root Installation, even when the root has a path annotation', () => {
    expect(pathBelow(one('root'), 'a')).toBe('root/a')
    expect(pathBelow(one('root', 'x/y/z', false), 'a')).toBe('root/a')
  })

  it('extends the path of its parent; when the parent has no path annotation, it begins with the owner of the parent', () => {
    expect(pathBelow(one('a-12345', 'root/a'), 'b')).toBe('root/a/b')
    expect(pathBelow(one('a-12345', undefined, true), 'b')).toBe('parent/a-12345/b')
  })
})

describe('sub-installations', () => {
  it('are refused with their path when they are nested deeper than 20 levels', () => {
    const templates = [{ name: 'next' }]
    expect(() => checkNesting(one('l19', deep(MAX_NESTING - 1)), templates)).not.toThrow()
    expect(() => checkNesting(one('l20', deep(MAX_NESTING)), [])).not.toThrow()
    expect(() => checkNesting(one('l20', deep(MAX_NESTING)), templates)).toThrow(
      /^subinstallations: found 21 levels, root -> l1 -> .* -> l20 -> next; expected at most 20$/,
    )
  })
})
