// Reading tenant data does not block the event loop, takes bounded time, and has the same result as reading it on the event loop.

import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { createDataReader } from '../../../../activities/landscaper/bounded/tenant-data.ts'
import { MAX_INLINE_COST, yamlCost } from '../../../../activities/landscaper/bounded/cost-estimate.ts'
import { compileJsonPath } from '../../../../activities/landscaper/deploy/objects/json-path.ts'
import type { Requirement } from '../../../../activities/landscaper/deploy/objects/readiness/custom-checks.ts'
import { parseYaml, YamlError } from '../../../../activities/yaml/read-yaml.ts'
import { countLoopTurns } from '../../../support/costs/event-loop-turns.ts'

const reader = createDataReader({ timeoutMs: 20_000 })
const data = reader.of({ namespace: 'n' })
afterAll(() => reader.close())

/** While a thread works the loop turns once in a millisecond; while the loop does it, not once. */
const FREE = 3
const path = (text: string) => compileJsonPath(text)
const items = Array.from({ length: 600 }, (_, index) => ({
  a: { b: index, c: 'x'.repeat(100), d: [1, { e: index }] },
}))
/** More values than a path may find. */
const wide = Array.from({ length: 11_000 }, () => 1)
const large = { metadata: { name: 'large' }, items }
const zeros = (count: number) => Array.from({ length: count }, () => 0)
const TOO_MUCH_FOUND = { problem: 'one of those that find more than 2 MiB, or 100,000 values, together' }
const keys = (count: number) => Array.from({ length: count }, (_, index) => `k${index}: v`).join('\n')

function requirement(text: string, operator: Requirement['operator'] = 'exists', values: unknown[] = []): Requirement {
  return { path: path(text), pathText: text, operator, values }
}

describe('the event loop', () => {
  it('turns while twenty paths are followed in a large object', async () => {
    const paths = Array.from({ length: 20 }, (_, index) => path(`..[?(@.b==${index})].c`))
    const { result, turns } = await countLoopTurns(() => data.values(large, paths))
    expect(result[7]).toEqual({ values: ['x'.repeat(100)] })
    expect(turns).toBeGreaterThan(FREE)
  })

  it('turns while many plain paths find the same large value', async () => {
    const paths = Array.from({ length: 500 }, () => path('.spec.a'))
    const { result, turns } = await countLoopTurns(() => data.values({ spec: { a: zeros(95_000) } }, paths))
    expect(result[0]).toEqual({ values: [zeros(95_000)] })
    expect(result[1]).toEqual(TOO_MUCH_FOUND)
    expect(turns).toBeGreaterThan(FREE)
  })

  it('turns while a large map is compared with many small maps', async () => {
    const map = Object.fromEntries(zeros(50_000).map((_, index) => [`k${index}`, 0]))
    const wanted = [
      requirement(
        '.data',
        'notin',
        zeros(150).map(() => ({})),
      ),
    ]
    const { result, turns } = await countLoopTurns(() =>
      data.unsatisfied({ metadata: { name: 'wide' }, data: map }, wanted),
    )
    expect(result).toBeUndefined()
    expect(turns).toBeGreaterThan(FREE)
  })

  it('turns while many small objects are checked at once', async () => {
    const small = { metadata: { name: 'small' }, items: items.slice(0, 40) }
    const looks = Array.from({ length: 800 }, () => data.unsatisfied(small, [requirement('.items[*].a.b')]))
    const { turns } = await countLoopTurns(() => Promise.all(looks))
    expect(turns).toBeGreaterThan(FREE)
  })

  it.each([
    ['an export', (text: string) => data.yaml(text)],
    ['a Target', (text: string) => data.document(text)],
    ['a blueprint', (text: string) => data.definition(text)],
  ])('turns while %s of very many keys is read', async (_, read) => {
    const { result, turns } = await countLoopTurns(() => read(keys(1500)))
    expect(result).toBeTypeOf('object')
    expect(turns).toBeGreaterThan(FREE)
  })
})

describe('data that is read in a thread', () => {
  const padding = `\npadding: [${'a,'.repeat(2000)}]`
  const odd =
    'a: 9007199254740993\nb: [1.5e300, -0.0, 1:30, yes, 0x10]\n__proto__: {x: 1}\n"é": !!str 1\nc: &c [1]\nd: *c'

  it('has the same value as on the event loop', async () => {
    const text = odd + padding
    expect(yamlCost(text)).toBeGreaterThan(MAX_INLINE_COST)
    expect(yamlCost(odd)).toBeLessThanOrEqual(MAX_INLINE_COST)
    expect(await data.yaml(text)).toEqual(parseYaml(text).value)
    expect(await data.yaml(odd)).toEqual(parseYaml(odd).value)
  })

  it('fails with the same error as on the event loop, with the line or the cause', async () => {
    const failure = await data.yaml(`${padding}\nb: [`).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(YamlError)
    expect(failure).toMatchObject({ line: 3, reason: expect.any(String) as string })
    await expect(data.definition(`kind: Canary${padding}`)).rejects.toMatchObject({
      code: 'ERR_CONFIGURATION_PROBLEM',
      message: 'blueprint.yaml, line 1, kind: found "Canary"; expected "Blueprint"',
    })
    expect(await data.document(`a: 1\na: 2${padding}`)).toEqual({ problem: 'a text that is not YAML (duplicate key)' })
  })

  it('has the same values for each path, and the failure of one path does not affect the other paths', async () => {
    const found = await data.values({ ...large, wide }, [
      path('..[?(@.b==3)].b'),
      path('.wide[*]'),
      path('.metadata.name'),
      path('.gone'),
    ])
    const tooMany = { problem: 'a path that finds more than 10000 values' }
    expect(found).toEqual([{ values: [3] }, tooMany, { values: ['large'] }, { values: [] }])
  })

  it('is reported with the requirement that it does not meet', async () => {
    const wanted = [requirement('..e'), requirement('..b', '==', [1])]
    expect(await data.unsatisfied(large, wanted)).toBe('..b does not satisfy operator "=="')
  })
})

describe('texts of the maximum length', () => {
  const PATIENCE = 120_000
  const patient = createDataReader({ timeoutMs: PATIENCE })
  const of = patient.of({ namespace: 'n' })
  afterAll(() => patient.close())

  it.each([
    ['JSON', `[${Array.from({ length: 31_000 }, () => '{"a":1}').join(',')}]`],
    ['JSON with a YAML comment', `[${Array.from({ length: 31_000 }, () => '{"a":1}').join(',')}] # all`],
    ['YAML', keys(34_000)],
  ])(
    'are read within the memory limit: %s',
    async (_, text) => {
      expect(Object.keys((await of.yaml(text)) as object).length).toBeGreaterThan(30_000)
    },
    PATIENCE,
  )

  it(
    'are read within the memory limit: twenty megabytes of items',
    async () => {
      const config = { values: Array.from({ length: 40 }, (_, index) => `${index}`.repeat(50)) }
      const list = Array.from({ length: 5000 }, (_, index) => ({ name: `n${index}`, type: 't', config }))
      const json = JSON.stringify(list)
      expect(json.length).toBeGreaterThan(18_000_000)
      const read = await of.items(gzipSync(json).toString('base64'))
      expect('items' in read && read.items.length).toBe(5000)
    },
    PATIENCE,
  )
})

describe('JSON', () => {
  it.each([
    '{"a": 1, "b": [], "a": {"<<": {"c": 1}, "yes": "no", "d": "2001-01-01", "": null}, "__proto__": {"x": 1}}',
    '["\\u00e9\\ud83d\\ude00\\/\\n", 1e3, -0, 12345678901234567890, 1.50, true, null, "0x10", "~"]',
    ' \n[{"a": "#b: *c"}]\n',
  ])('has the same value as when it is read as YAML: %s', async (text) => {
    expect(await data.yaml(text)).toEqual(parseYaml(text).value)
  })

  it('is refused when it is nested 1001 levels deep', async () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    await expect(data.yaml(nested(1001))).rejects.toThrow('nested too deeply')
  })
})

describe('data that is too expensive to read', () => {
  const quadratic = path('..[?($.items==@)]')

  it('is reported as such, and does not block the next read', async () => {
    const hasty = createDataReader({ timeoutMs: 1 })
    const of = hasty.of({ namespace: 'n' })
    expect(await of.values(large, [quadratic])).toEqual([{ problem: 'one of those that are not read within 1 ms' }])
    expect(await of.unsatisfied(large, [requirement('..[?($.items==@)]')])).toBe(
      'its requirements are not read within 1 ms',
    )
    expect(await of.document(keys(9000))).toEqual({ problem: 'a text that is not read within 1 ms' })
    await expect(of.yaml(keys(9000))).rejects.toThrow('not read within 1 ms; expected less text')
    await expect(of.definition(keys(9000))).rejects.toMatchObject({ code: 'ERR_CONFIGURATION_PROBLEM' })
    expect(await of.yaml('a: 1')).toEqual({ a: 1 })
    await hasty.close()
  }, 120_000)

  it('is refused when a path finds more than 2 MiB', async () => {
    const [found] = await data.values({ a: 'x'.repeat(3 * 1024 * 1024) }, [path('.a')])
    expect(found).toEqual(TOO_MUCH_FOUND)
  })

  it('is refused for the paths with which one query finds more than 2 MiB in total', async () => {
    const texts = Object.fromEntries(zeros(5).map((_, index) => [`k${index}`, `${index}`.repeat(600 * 1024)]))
    const paths = [...Object.keys(texts).map((key) => path(`.${key}`)), path('..[?(@.b==3)].b')]
    const found = await data.values({ ...texts, items }, paths)
    expect(found.map((one) => 'values' in one)).toEqual([true, true, true, false, false, false])
    expect(found[3]).toEqual(TOO_MUCH_FOUND)
  })

  it('is refused when its aliases expand to more than 250000 values', async () => {
    const text = `a: &a [${'x,'.repeat(3000)}]\nb: [${'*a,'.repeat(99)}]`
    await expect(data.yaml(text)).rejects.toThrow('found aliases that expand to more than 250000 values')
  })
})

describe('cancelled work', () => {
  it('ends and releases its thread', async () => {
    const ending = new AbortController()
    const work = reader.of({ namespace: 'n', signal: ending.signal }).values(large, [path('..[?($==$)]')])
    const rejected = expect(work).rejects.toBe('over')
    setImmediate(() => ending.abort('over'))
    await rejected
    expect(await data.values(large, [path('..[?(@.b==3)].b')])).toEqual([{ values: [3] }])
  })
})
