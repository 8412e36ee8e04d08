import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import type { KubeClient, KubeObject, RequestOptions } from '../../../activities/kube/client.ts'
import { KubeError } from '../../../activities/kube/errors.ts'
import { readPod } from '../../../worker/node-agent/agent-pod.ts'
import type { ContainerRun, PodFacts } from '../../../worker/node-agent/decide.ts'
import { PodKeeper, type PodRun, Semaphore } from '../../../worker/node-agent/pod-keeper.ts'
import { deleting, type PodOptions, storedPod } from './pods.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 })
})
afterEach(() => {
  vi.useRealTimers()
})

const quiet = { info: () => undefined, warn: () => undefined }

const ABSENT: PodFacts = { acceptedMs: undefined, ending: undefined, containers: {} }
const RUNNING: ContainerRun = {
  state: 'running',
  startedMs: 1_000_000,
  isStarted: true,
  isReady: true,
  isUnhealthy: false,
}
const factsOf = (run: ContainerRun, ending?: PodFacts['ending']): PodFacts => ({
  acceptedMs: 1_000_000,
  ending,
  containers: { main: { run, restarts: 0, crashes: 0 } },
})
const ended = (finishedMs: number, code: number) =>
  factsOf({ state: 'ended', startedMs: 1_000_000, finishedMs, exit: { how: 'exited', code } })

/** The processes of a keeper's pod, which record the calls with their times. */
function process(first: PodFacts = ABSENT) {
  const did: string[] = []
  const world = { facts: first, did, failures: 0 }
  const act = async (what: string, next: PodFacts) => {
    await Promise.resolve()
    if (world.failures > 0) {
      world.failures -= 1
      throw new Error('not now')
    }
    if (what !== 'accept') did.push(`${(Date.now() - 1_000_000) / 1000} ${what}`)
    world.facts = next
  }
  const run: PodRun = {
    lookEveryMs: 1000,
    waiting: {},
    look: async () => await Promise.resolve(world.facts),
    update: () => undefined,
    accept: async () => await act('accept', factsOf({ state: 'none' })),
    start: async () => await act('start', factsOf(RUNNING)),
    terminate: async (why, graceMs, sinceMs) =>
      await act(`terminate ${why}`, factsOf(RUNNING, { why, graceMs, sinceMs, isKilled: false })),
    kill: async () => await act('kill', ended(Date.now(), 137)),
    sweep: async () => await act('sweep', ABSENT),
    states: async () => await Promise.resolve({}),
    close: () => undefined,
  }
  return { ...world, run, world }
}

type Answer = (method: string, path: string, options: RequestOptions) => Promise<KubeObject>

function kubeOf(answer: Answer) {
  const requests: string[] = []
  const kube: Pick<KubeClient, 'request'> = {
    request: async <T>(method: string, path: string, options: RequestOptions = {}) => {
      requests.push(`${(Date.now() - 1_000_000) / 1000} ${method} ${path.replace(/.*pods/, 'pods')}`)
      return (await answer(method, path, options)) as T
    },
  }
  return { kube, requests }
}

/** An API server with one pod. */
function server(options: PodOptions = {}) {
  let pod: KubeObject | undefined = storedPod(options)
  const answer: Answer = async (method, _path, { body }) => {
    await Promise.resolve()
    if (pod === undefined) throw new KubeError('gone', { status: 404, reason: 'NotFound' })
    if (method === 'DELETE') {
      pod = undefined
      return { kind: 'Status', metadata: { name: '' } }
    }
    const { status } = body as { readonly status: object }
    pod = {
      ...pod,
      metadata: { ...pod.metadata, resourceVersion: String(Number(pod.metadata.resourceVersion) + 1) },
      status: { ...(pod['status'] as object), ...status },
    }
    return pod
  }
  return { answer, pod: () => pod }
}

function keeperOf(
  run: PodRun,
  kube: Pick<KubeClient, 'request'>,
  slots = new Semaphore(20),
  { from = 'server', ...options }: PodOptions & { readonly from?: 'server' | 'disk' } = {},
) {
  const keeper = new PodKeeper(readPod(storedPod(options)), from, {
    kube,
    run,
    slots,
    log: quiet,
    hostIP: '10.0.0.1',
    podIP: '10.0.0.1',
    conditions: undefined,
    settings: { restartDelayMs: 10_000 },
    random: () => 1,
    now: () => Date.now(),
  })
  const stop = new AbortController()
  const done = keeper.keep(stop.signal)
  return {
    keeper,
    stop: async () => {
      stop.abort()
      await done
    },
    done,
  }
}

const deleted = (options: PodOptions = {}) =>
  readPod(storedPod({ version: 100, phase: 'Running', ...deleting(), ...options }))

describe('the keeper of a pod', () => {
  it('starts its process and reports once that it runs', async () => {
    const { run, did } = process()
    const { kube, requests } = kubeOf(server().answer)
    const { stop } = keeperOf(run, kube)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(did).toEqual(['0 start'])
    expect(requests).toEqual(['0 PATCH pods/one/status'])
    await stop()
  })

  it('writes to its pod, and to no other pod with the same name', async () => {
    const bodies: unknown[] = []
    const { run } = process()
    const { kube } = kubeOf(async (method, path, options) => {
      bodies.push(options.body)
      return await server().answer(method, path, options)
    })
    const { stop } = keeperOf(run, kube)
    await vi.advanceTimersByTimeAsync(0)
    expect(bodies).toEqual([expect.objectContaining({ metadata: { uid: 'uid-1' } })])
    await stop()
  })

  it('treats a new pod with the same name as another pod', async () => {
    const { run, did } = process()
    const { kube } = kubeOf(async (method) => {
      await Promise.resolve()
      if (method === 'GET') return storedPod({ uid: 'uid-2' })
      throw new KubeError('uid', { status: 409, reason: 'Conflict' })
    })
    const { done } = keeperOf(run, kube)
    await vi.advanceTimersByTimeAsync(0)
    expect(did).toEqual(['0 start', '0 terminate gone'])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(did.slice(2)).toEqual(['60 kill', '60 sweep'])
    await done
  })

  it('kills the process after the grace period of the deletion', async () => {
    const { run, did } = process()
    const { kube } = kubeOf(server().answer)
    const { keeper, stop } = keeperOf(run, kube)
    await vi.advanceTimersByTimeAsync(10_000)
    keeper.update(deleted())
    await vi.advanceTimersByTimeAsync(60_000)
    expect(did).toEqual(['0 start', '10 terminate deleted', '15 kill'])
    await stop()
  })

  it('ignores events that are older than the known version', async () => {
    const { run, did } = process()
    const { kube } = kubeOf(server().answer)
    const { keeper, stop } = keeperOf(run, kube)
    await vi.advanceTimersByTimeAsync(0)
    keeper.update(deleted({ version: 1 }))
    await vi.advanceTimersByTimeAsync(1000)
    expect(did).toEqual(['0 start'])
    await stop()
  })

  it('reports nothing about a pod from disk until the server shows it', async () => {
    const { run } = process(ended(3, 0))
    const { kube, requests } = kubeOf(server().answer)
    const { keeper, stop } = keeperOf(run, kube, undefined, { from: 'disk' })
    await vi.advanceTimersByTimeAsync(5000)
    expect(requests).toEqual([])
    keeper.update(readPod(storedPod()))
    await vi.advanceTimersByTimeAsync(0)
    expect(requests).toEqual(['5 PATCH pods/one/status'])
    await stop()
  })

  it('ends after the clean-up of a deleted pod', async () => {
    const { run, did } = process()
    const { kube } = kubeOf(server().answer)
    const { keeper, done } = keeperOf(run, kube)
    keeper.update(undefined)
    await vi.advanceTimersByTimeAsync(0)
    await done
    expect(did).toEqual(['0 sweep'])
  })

  it('retries failures with a growing back-off', async () => {
    const { run, did, world } = process()
    world.failures = 3
    const { kube } = kubeOf(server().answer)
    const { stop } = keeperOf(run, kube)
    await vi.advanceTimersByTimeAsync(10_000)
    // After 200, 400 and 800 ms.
    expect(did).toEqual(['1.4 start'])
    await stop()
  })
})

describe('the keeper of a pod while the API server does not answer', () => {
  const silence = async () => await new Promise<never>(() => undefined)

  it('sends signals in time', async () => {
    const { run, did } = process()
    const { kube, requests } = kubeOf(silence)
    const { stop } = keeperOf(run, kube, undefined, { activeDeadlineSeconds: 30, terminationGracePeriodSeconds: 10 })
    await vi.advanceTimersByTimeAsync(100_000)
    expect(did).toEqual(['0 start', '30 terminate deadline', '40 kill'])
    expect(requests).toHaveLength(1)
    await stop()
  })

  it('reports the present state afterwards, and retries with a back-off', async () => {
    const { run, world } = process()
    const { answer, pod } = server()
    const { kube, requests } = kubeOf(async (...request) => {
      if (Date.now() < 1_060_000) throw new KubeError('away', { status: 0, reason: 'Unreachable' })
      return await answer(...request)
    })
    const { stop } = keeperOf(run, kube)
    await vi.advanceTimersByTimeAsync(59_000)
    expect(requests.length).toBeLessThan(12)
    world.facts = ended(1_059_000, 0)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(pod()).toMatchObject({ status: { phase: 'Succeeded' } })
    await stop()
  })

  it('respects Retry-After', async () => {
    const { run } = process()
    const { kube, requests } = kubeOf(async () => {
      await Promise.resolve()
      throw new KubeError('busy', { status: 429, reason: 'TooManyRequests', retryAfterMs: 40_000 })
    })
    const { stop } = keeperOf(run, kube)
    await vi.advanceTimersByTimeAsync(39_000)
    expect(requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(2000)
    expect(requests).toHaveLength(2)
    await stop()
  })

  it('shares a limit of concurrent requests with other keepers', async () => {
    const slots = new Semaphore(3)
    const { kube, requests } = kubeOf(silence)
    const keepers = Array.from({ length: 10 }, () => keeperOf(process().run, kube, slots))
    await vi.advanceTimersByTimeAsync(5000)
    expect(requests).toHaveLength(3)
    await Promise.all(keepers.map(async ({ stop }) => await stop()))
  })
})
