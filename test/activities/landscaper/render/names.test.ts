import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  dataLabels,
  dataObjectName,
  elementName,
  executionContext,
  installationContext,
  ROOT_CONTEXT,
  stateSecretName,
} from '../../../../activities/landscaper/render/names.ts'

describe('the name of a DataObject', () => {
  it.each([
    ['a plain name in the root scope', ROOT_CONTEXT, 'my-export.v1', 'my-export.v1'],
    ['a global name in any scope', installationContext('parent'), '#my-export', 'my-export'],
    // printf %s 'Inst.parent/my-export' | sha1sum | xxd -r -p | base32 | tr A-Z a-z | tr -d =
    ['a name in an installation', installationContext('parent'), 'my-export', 'zvt4e5pqe3pui7f5xoqsyj5y22dpknvo'],
    ['a name in the root scope that no object can have', ROOT_CONTEXT, 'myExport', 'echetewi3egsugtzkosbknzq35suhcc5'],
    ['the exports of an execution', executionContext('exec'), '', 'jnzbt4qjtavmabk7w6jz7ya2n3meak6k'],
    [
      'an element of a list',
      installationContext('parent'),
      elementName('clusters', 1),
      'f3mnxqme4mofb3m7xqumf6im6esyfwcq',
    ],
  ])('is generated for %s', (_, context, name, expected) => {
    expect(dataObjectName(context, name)).toBe(expected)
  })

  it('is always a valid object name and differs between scopes', () => {
    const name = fc.string({ minLength: 1 }).filter((text) => !text.startsWith('#'))
    fc.assert(
      fc.property(name, name, name, (scope, other, key) => {
        expect(dataObjectName(scope, key)).toMatch(/^[a-z2-7]{32}$/)
        fc.pre(scope !== other && !`${scope}${other}${key}`.includes('/'))
        expect(dataObjectName(scope, key)).not.toBe(dataObjectName(other, key))
      }),
    )
  })
})

describe('the state of an execution', () => {
  it('is stored in a Secret whose name depends on installation, use and executor', () => {
    expect(stateSecretName('inst', 'deploy', 'default')).toBe('tr35axtoxgddrp247b2v7eiexevcpi5n')
    expect(stateSecretName('inst', 'export', 'default')).not.toBe(stateSecretName('inst', 'deploy', 'default'))
  })
})

describe('the labels of a DataObject', () => {
  it('name its key, its source and its job, if they are known', () => {
    const prefix = 'data.landscaper.gardener.cloud'
    const known = { key: 'url', sourceType: 'export' as const, source: installationContext('a'), jobID: 'job-1' }
    expect(dataLabels({ context: ROOT_CONTEXT, ...known })).toEqual({
      [`${prefix}/key`]: 'url',
      [`${prefix}/sourceType`]: 'export',
      [`${prefix}/source`]: 'Inst.a',
      [`${prefix}/jobid`]: 'job-1',
    })
    expect(dataLabels({ context: 'Exec.a', key: '', sourceType: 'export' })).toEqual({
      [`${prefix}/context`]: 'Exec.a',
      [`${prefix}/key`]: '',
      [`${prefix}/sourceType`]: 'export',
    })
  })
})
