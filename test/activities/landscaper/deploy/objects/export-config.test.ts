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
    const given = one({ targetName: 't', fromObjectRef, timeout: '1m' })
    const config = readExportsConfig(given, 'exports', { mistakes, hasValues: false })
    expect(mistakes).toEqual([])
    const objectRef = { apiVersion: 'v1', kind: 'Secret', pathText: '.ref' }
    expect(config).toMatchObject([{ key: 'a.b', pathText: '.data.x', from: FROM, targetName: 't', objectRef }])
  })

  it('need no resource if a chart has values', () => {
    expect(mistakesOf(one({ fromResource: undefined }), true)).toEqual([])
    const fromObjectRef = { apiVersion: 'v1', kind: 'Secret', jsonPath: '.ref' }
    expect(mistakesOf(one({ fromResource: undefined, fromObjectRef }), true)).toEqual([
      'exports.exports[0].fromResource: found nothing; expected a map, because fromObjectRef is set',
    ])
  })

  it.each<[string, unknown, string]>([
    ['a list instead of a map', ['canary'], ': found a list; expected a map'],
    ['a text instead of a list', { exports: 'canary' }, '.exports: found another text; expected a list'],
    ['an invalid export', { exports: ['canary'] }, '.exports[0]: found another text; expected a map'],
  ])('with %s are refused without the value', (_, value, mistake) => {
    expect(mistakesOf(value)).toEqual([`exports${mistake}`])
  })

  it.each<[object, string]>([
    [{ key: undefined }, 'key: found nothing; expected a text'],
    [{ key: 'canary..x' }, 'key: found an empty part; expected a key such as a.b'],
    [{ jsonPath: undefined }, 'jsonPath: found nothing; expected a JSON path'],
    [
      { jsonPath: '.canary[' },
      'jsonPath: found not a JSON path; expected one such as .status.phase or .items[?(@.name=="a")].value',
    ],
    [{ fromResource: undefined }, 'fromResource: found nothing; expected a map with apiVersion, kind and name'],
    [{ fromResource: { ...FROM, name: 7 } }, 'fromResource.name: found a number; expected a text'],
    [
      { fromObjectRef: { kind: 'Secret', jsonPath: '.ref' } },
      'fromObjectRef.apiVersion: found nothing; expected a text',
    ],
  ])('are refused, without the value, when an export has %j', (change, mistake) => {
    expect(mistakesOf(one(change))).toEqual([`exports.exports[0].${mistake}`])
  })
})
