// Passes over a TargetSync: when it synchronises, what its status says, when it comes again. Source: spec/landscaper.md 1.9.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runPass } from '../../../../workflows/kit/testing/index.ts'
import { FINALIZER, OPERATION_ANNOTATION, ROTATE_TOKEN_ANNOTATION } from '../../../../workflows/landscaper/contract.ts'
import { targetSyncController } from '../../../../workflows/landscaper/target-sync/controller.ts'
import type { SyncAnswer, SyncInput } from '../../../../activities/landscaper/target-sync/sync-targets.ts'

const NOW = '2030-06-01T00:00:00Z'
beforeEach(() => {
  vi.useFakeTimers({ now: new Date(NOW), toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const spec = { sourceNamespace: 'garden-x', secretRef: { name: 'access' }, secretNameExpression: '*' }

interface Given {
  readonly target?: { readonly spec?: object; readonly status?: object; readonly metadata?: object }
  readonly others?: readonly string[]
  readonly answer?: SyncAnswer
}

async function pass({ target = {}, others = [], answer = { errors: [], rotated: false } }: Given = {}) {
  const inputs: SyncInput[] = []
  let removals = 0
  const course = await runPass(targetSyncController, {
    target: {
      ...target,
      metadata: { name: 'sync', generation: 3, finalizers: [FINALIZER], ...target.metadata },
      spec: { ...spec, ...target.spec },
    },
    state: { all: ['sync', ...others].map((name) => ({ metadata: { name } })) },
    calls: {
      syncTargets: (input: unknown) => {
        inputs.push(input as SyncInput)
        return answer
      },
      removeTargets: () => {
        removals += 1
        return null
      },
    },
  })
  return { ...course, inputs, removals }
}

describe('a TargetSync', () => {
  it('reports a synchronization, and synchronizes again after five minutes', async () => {
    const { outcome, status, inputs } = await pass({ target: { status: { lastErrors: ['an old one'] } } })
    expect(inputs).toEqual([expect.objectContaining({ spec, rotates: false })])
    expect(status).toMatchObject({ observedGeneration: 3, lastUpdateTime: NOW })
    expect(outcome).toMatchObject({ faults: [], laterMs: 300_000 })
  })

  it('reports errors, and tries again sooner', async () => {
    const { outcome, status } = await pass({ answer: { errors: ['source: no'], rotated: false } })
    expect(status).toMatchObject({ lastErrors: ['source: no'] })
    expect(outcome).toMatchObject({ laterMs: 60_000 })
  })

  it('reports an error and does nothing if the namespace has another one', async () => {
    const { status, inputs } = await pass({ others: ['other'] })
    expect(inputs).toEqual([])
    expect(status).toMatchObject({
      lastErrors: ['namespace default: found 2 TargetSyncs (sync, other); expected one'],
    })
  })

  it('removes the request annotations', async () => {
    const annotations = { [OPERATION_ANNOTATION]: 'reconcile', [ROTATE_TOKEN_ANNOTATION]: 'true' }
    const target = { metadata: { annotations }, spec: { tokenRotation: { enabled: true } } }
    const asked = await pass({ target, answer: { errors: [], rotated: true } })
    const crossed = (keys: readonly string[]) =>
      expect.objectContaining({
        metadata: expect.objectContaining({
          annotations: Object.fromEntries(keys.map((key) => [key, null])),
        }) as unknown,
      }) as unknown
    expect(asked.outcome.faults).toEqual([])
    expect(asked.writes.map((write) => ('object' in write ? write.object : write))).toEqual([
      crossed([OPERATION_ANNOTATION, ROTATE_TOKEN_ANNOTATION]),
    ])
    const refused = await pass({ target, answer: { errors: ['token: no'], rotated: false } })
    expect(refused.writes.map((write) => ('object' in write ? write.object : write))).toEqual([
      crossed([OPERATION_ANNOTATION]),
    ])
  })
})

describe('the token of a TargetSync', () => {
  const rotates = async (target: object) =>
    (await pass({ target: { spec: { tokenRotation: { enabled: true } }, ...target } })).inputs[0]?.rotates

  it('is renewed first, after sixty days, and on request; only if rotation is enabled', async () => {
    expect(await rotates({})).toBe(true)
    expect(await rotates({ status: { lastTokenRotationTime: '2030-04-03T00:00:00Z' } })).toBe(false)
    expect(await rotates({ status: { lastTokenRotationTime: '2030-04-01T00:00:00Z' } })).toBe(true)
    const metadata = { annotations: { [ROTATE_TOKEN_ANNOTATION]: '' } }
    expect(await rotates({ metadata, status: { lastTokenRotationTime: NOW } })).toBe(true)
    expect(await rotates({ metadata, spec: {} })).toBe(false)
  })

  it('has the time of its renewal in the status', async () => {
    expect((await pass({ answer: { errors: [], rotated: true } })).status).toMatchObject({ lastTokenRotationTime: NOW })
  })
})

describe('a TargetSync that is deleted', () => {
  const metadata = { deletionTimestamp: NOW }

  it('removes the objects that it created', async () => {
    const { removals, finalizer, inputs } = await pass({ target: { metadata } })
    expect([removals, finalizer, inputs]).toEqual([1, 'taken off', []])
  })

  it('leaves the objects to another TargetSync of its namespace', async () => {
    const { removals, finalizer } = await pass({ target: { metadata }, others: ['other'] })
    expect([removals, finalizer]).toEqual([0, 'taken off'])
  })
})
