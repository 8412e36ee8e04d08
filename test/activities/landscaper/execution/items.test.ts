import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'

import { storedAs } from '../../../../activities/kube/object-views.ts'
import { decodeItems, deployItemName } from '../../../../activities/landscaper/execution/items.ts'
import { countLoopTurns } from '../../../support/costs/event-loop-turns.ts'
import { data } from '../tenant-data.ts'
import { executionKind } from '../../../../workflows/landscaper/execution/kind.ts'

const ITEMS = [
  { name: 'a', type: 'mock', config: { x: 1 } },
  { name: 'b', type: 'mock', dependsOn: ['a'], config: {} },
]

// Archives one after the other are one; the last says its own size alone.
const hidden = Buffer.concat([gzipSync(Buffer.alloc(33 * 1024 * 1024, ' ')), gzipSync('[]')]).toString('base64')

const execution = (spec: object) => storedAs(executionKind, { metadata: { name: 'exec', uid: 'uid-1' }, spec })
const decoded = async (spec: object) => await decodeItems(execution(spec), data)
const raw = async (deployItemsCompressed: string) => await decoded({ deployItemsCompressed })
const packed = async (content: string | Buffer) => await raw(gzipSync(content).toString('base64'))

describe('the items of an execution', () => {
  it('are read in both forms; the compressed form takes precedence', async () => {
    expect(await decoded({ deployItems: ITEMS })).toEqual({ items: ITEMS })
    expect(await packed(JSON.stringify(ITEMS))).toEqual({ items: ITEMS })
    const both = { deployItems: [], deployItemsCompressed: gzipSync(JSON.stringify(ITEMS)).toString('base64') }
    expect(await decoded(both)).toEqual({ items: ITEMS })
  })

  it('are an empty list when the spec or the compressed text is empty', async () => {
    expect(await decoded({})).toEqual({ items: [] })
    expect(await decoded({ deployItemsCompressed: '' })).toEqual({ items: [] })
  })

  it.each([
    [
      'not gzip',
      raw(Buffer.from('garbage').toString('base64')),
      'cannot be read (incorrect header check); expected base64',
    ],
    [
      'cut off',
      raw(gzipSync(JSON.stringify(ITEMS)).subarray(0, 20).toString('base64')),
      'cannot be read (unexpected end of file)',
    ],
    [
      'a gzip bomb',
      packed(Buffer.alloc(33 * 1024 * 1024, ' ')),
      'cannot be read (more than 33554432 bytes when unpacked)',
    ],
    ['a bomb of JSON values', packed(`[${'[],'.repeat(8_000_000)}[]]`), 'cannot be read (more than 1000000 values)'],
    ['a gzip bomb in front of a small archive', raw(hidden), 'cannot be read (more than 33554432 bytes when unpacked)'],
    ['not JSON', packed('canary'), 'holds no JSON; expected'],
    ['a map', packed('{"name":"canary"}'), 'holds JSON of another shape; expected'],
    ['a list of texts', packed('["canary"]'), 'holds a list with other things; expected'],
    ['null', packed('[null]'), 'holds a list with other things; expected'],
    ['without type', packed('[{"name":"canary"}]'), 'holds a list with other things; expected'],
    [
      'with an invalid dependsOn',
      packed('[{"name":"canary","type":"t","dependsOn":"x"}]'),
      'holds a list with other things; expected',
    ],
  ])('are refused without quoting their contents when they are %s', async (_, reading, problem) => {
    const read = await reading
    expect('problem' in read && read.problem).toContain(`spec.deployItemsCompressed ${problem}`)
    expect(JSON.stringify(read)).not.toContain('canary')
  })
})

describe('thousands of items', () => {
  it('are decoded without blocking the event loop', async () => {
    const many = Array.from({ length: 20_000 }, (_, index) => ({
      name: `item-${index}`,
      type: 'mock',
      config: { index },
    }))
    const text = gzipSync(JSON.stringify(many)).toString('base64')
    const { result, turns } = await countLoopTurns(async () => await raw(text))
    expect(result).toEqual({ items: many })
    expect(turns).toBeGreaterThan(5)
  })
})

describe('the name of a deploy item', () => {
  it('is the same in every attempt of a job, and different for another item, job or execution', () => {
    const name = deployItemName(execution({}), 'a', 'job-1')
    expect(name).toMatch(/^exec-a-[0-9a-f]{5}$/)
    expect(deployItemName(execution({}), 'a', 'job-1')).toBe(name)
    const others = [
      deployItemName(execution({}), 'b', 'job-1'),
      deployItemName(execution({}), 'a', 'job-2'),
      deployItemName({ metadata: { name: 'exec', uid: 'uid-2' } }, 'a', 'job-1'),
    ]
    expect(new Set([name, ...others]).size).toBe(4)
  })

  it('has at most 63 characters, and a longer hash if it is shortened', () => {
    expect(deployItemName(execution({}), 'x'.repeat(80), 'job')).toMatch(/^exec-x{47}-[0-9a-f]{10}$/)
  })

  it.each([`${'x'.repeat(46)}.yyyyyyyyyy`, `${'x'.repeat(45)}--yyyyyyyyyy`, 'x-', 'x.'])(
    'of %s has no dot or dash before the hash',
    (item) => {
      expect(deployItemName(execution({}), item, 'job')).toMatch(/^exec-x+-[0-9a-f]+$/)
    },
  )
})
