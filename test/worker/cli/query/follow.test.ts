import { describe, expect, it } from 'vitest'

import { follow, isUnavailable, pauseAfter } from '../../../../worker/cli/query/follow.ts'
import { endOf } from '../../../../worker/cli/query/trace.ts'
import { after, job, object } from './build-node.ts'

const refused = Object.assign(new Error(''), { code: 'ECONNREFUSED' })

/** Follows a job whose reads return these values or errors and take this long. */
async function following(looks: readonly (number | Error | 'on')[], tookMs = 0) {
  const [told, pauses]: [string[], number[]] = [[], []]
  let [next, now] = [0, 0]
  const end = await follow({
    readTree: () => {
      now += tookMs
      const one = looks[next++]
      return one instanceof Error ? Promise.reject(one) : Promise.resolve(one)
    },
    show: (seen) => (typeof seen === 'number' ? seen : undefined),
    report: (line) => told.push(line),
    pause: (ms) => Promise.resolve(pauses.push(ms)),
    clockMs: () => now,
  })
  return { end, told, pauses }
}

describe('following a job', () => {
  it('reads its state until it ends', async () => {
    expect(await following(['on', 'on', 3])).toEqual({ end: 3, told: [], pauses: [100, 100] })
  })

  it('reads less often the longer a read takes', async () => {
    expect((await following(['on', 0], 300)).pauses).toEqual([1200])
    expect([0, 24, 26, 60_000].map(pauseAfter)).toEqual([100, 100, 104, 5000])
  })

  it('continues when the journal answers again, and reports that once', async () => {
    const away = Array.from({ length: 7 }, () => refused)
    expect(await following(['on', ...away, 'on', 0])).toEqual({
      end: 0,
      told: ['the journal does not answer: ECONNREFUSED; waiting for it', 'the journal answers again'],
      pauses: [100, 100, 200, 400, 800, 1600, 3200, 5000, 100],
    })
  })

  it('ends with any other error', async () => {
    await expect(following(['on', new Error('the journal has no Installation a/b')])).rejects.toThrow('has no')
  })
})

describe('the journal', () => {
  it.each([
    [refused, true],
    [Object.assign(new Error('shut down'), { code: '57P01' }), true],
    [Object.assign(new Error('too many'), { code: '53300' }), true],
    [new Error('Connection terminated unexpectedly'), true],
    [new Error('Query read timeout'), true],
    [Object.assign(new Error('relation "object" does not exist'), { code: '42P01' }), false],
    [new TypeError('x is not a function'), false],
    ['text', false],
  ])('is unavailable after %s: %s', (error, away) => {
    expect(isUnavailable(error)).toBe(away)
  })
})

describe('a followed job', () => {
  const end = (ms: number, phase: string) => ({ phase, outcome: phase, finishedAt: after(ms) })
  const at = (phase: string, jobID: string, jobIDFinished: string) => ({ status: { phase, jobID, jobIDFinished } })
  const over = job('x', { ...end(5, 'Succeeded') })
  const gone = { ...object('Execution', 'x', at('Deleting', 'j2', 'j1')), deleted: true }

  it.each([
    ['is open', object('Execution', 'x', at('Init', 'j1', 'j0')), job('x'), undefined, undefined],
    ['is over', object('Execution', 'x', at('Succeeded', 'j1', 'j1')), over, undefined, 'well'],
    ['has failed', object('Execution', 'x', at('Failed', 'j1', 'j1')), job('x', end(5, 'Failed')), 'j1', 'badly'],
    [
      'has made room for one whose row is to come',
      object('Execution', 'x', at('Init', 'j2', 'j1')),
      over,
      undefined,
      undefined,
    ],
    [
      'has made room for another, and was asked for by name',
      object('Execution', 'x', at('Init', 'j2', 'j1')),
      over,
      'j1',
      'well',
    ],
    [
      'is requested, after another one',
      object('Installation', 'x', {
        ...at('Succeeded', 'j1', 'j1'),
        metadata: { annotations: { 'landscaper.gardener.cloud/operation': 'reconcile' } },
      }),
      over,
      undefined,
      undefined,
    ],
    ['is to come', object('Execution', 'x'), undefined, undefined, undefined],
    ['has no row, and is over', object('DeployItem', 'x', at('Succeeded', 'j1', 'j1')), undefined, undefined, 'well'],
    ['has no row, and has failed', object('DeployItem', 'x', at('Failed', 'j1', 'j1')), undefined, undefined, 'badly'],
    ['went with its object', gone, undefined, undefined, 'well'],
  ])('that %s', (...[, of, found, wanted, ended]) => {
    expect(endOf({ object: of, job: found }, found, wanted)).toBe(ended)
  })
})
