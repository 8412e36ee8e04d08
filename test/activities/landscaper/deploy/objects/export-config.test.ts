import { describe, expect, it } from 'vitest'
import { readExportsConfig } from '../../../../../activities/landscaper/deploy/objects/resource-exports.ts'

const FROM = { apiVersion: 'v1', kind: 'Secret', name: 's', namespace: 'n' }
const ENTRY = { key: 'a.b', jsonPath: '.data.x', fromResource: FROM }

function mistakesOf(value: unknown, hasValues = false): string[] {
  const mistakes: string[] = []
  readExportsConfig(value, 'exports', { mistakes, hasValues })
  return mistakes
}

const one = (change: object) => ({ exports: [{ ...ENTRY, ...change }] })

describe('exports of a configuration', () => {
  it('are an empty list when the configuration lists no exports', () => {
    for (const value of [undefined, null, {}, { exports: [] }, { defaultTimeout: '1m' }]) {
      expect(readExportsConfig(value, 'exports', { mistakes: [], hasValues: false })).toEqual([])
      expect(mistakesOf(value)).toEqual([])
    }
  })

  it('are read unchanged', () => {
    const mistakes: string[] = []
    const fromObjectRef = { apiVersion: 'v1', kind: 'Secret', jsonPath: '.ref' }
    const config = readExportsConfig(one({ targetName: 't', fromObjectRef, timeout: '1m' }), 'exports', {
      mistakes,
      hasValues: false,
    })
    expect(mistakes).toEqual([])
    expect(config).toMatchObject([
      {
        key: 'a.b',
        pathText: '.data.x',
        from: FROM,
        targetName: 't',
        objectRef: { apiVersion: 'v1', kind: 'Secret', pathText: '.ref' },
      },
    ])
  })

  it('need no resource if a chart has values', () => {
    expect(mistakesOf(one({ fromResource: undefined }), true)).toEqual([])
    const fromObjectRef = { apiVersion: 'v1', kind: 'Secret', jsonPath: '.ref' }
    expect(mistakesOf(one({ fromResource: undefined, fromObjectRef }), true)).toEqual([
      'exports.exports[0].fromResource is absent; expected a map, because fromObjectRef is set',
    ])
  })

  it.each<[string, unknown, string]>([
    ['a list instead of a map', ['canary'], 'exports is a list; expected a map'],
    ['a text instead of a list', { exports: 'canary' }, 'exports.exports is another text; expected a list'],
    ['an invalid export', { exports: ['canary'] }, 'exports.exports[0] is another text; expected a map'],
    ['no key', one({ key: undefined }), 'exports.exports[0].key is absent; expected a text'],
    [
      'an invalid key',
      one({ key: 'canary..x' }),
      'exports.exports[0].key is a text with an empty part; expected a key such as a.b',
    ],
    ['no path', one({ jsonPath: undefined }), 'exports.exports[0].jsonPath is absent; expected a JSON path'],
    [
      'an invalid path',
      one({ jsonPath: '.canary[' }),
      'exports.exports[0].jsonPath is not a JSON path; expected one such as .status.phase or .items[?(@.name=="a")].value',
    ],
    [
      'no resource',
      one({ fromResource: undefined }),
      'exports.exports[0].fromResource is absent; expected a map with apiVersion, kind and name',
    ],
    [
      'an incomplete resource',
      one({ fromResource: { ...FROM, name: 7 } }),
      'exports.exports[0].fromResource.name is a number; expected a text',
    ],
    [
      'an incomplete reference',
      one({ fromObjectRef: { kind: 'Secret', jsonPath: '.ref' } }),
      'exports.exports[0].fromObjectRef.apiVersion is absent; expected a text',
    ],
  ])('with %s are refused without the value', (_, value, mistake) => {
    expect(mistakesOf(value)).toEqual([mistake])
  })
})
