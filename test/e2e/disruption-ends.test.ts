// Tests the end of a Disruption after a fault: a deleted target or node, an injector that hangs or fails, a worker that is down, a clock that jumps, a removed
// finalizer. The worker uses a clock that the tests set. The tests of a `describe` run at the same time, because most of
// them wait. Source: spec/chaos.md 8.5, X4 and X6; seeds/chaos-controller.txt "Cleanup phase".

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { CHAOS_NAMESPACE } from '../../workflows/chaos/config.ts'
import { type ChaosPodObject, ChaosKubelet } from '../support/chaos/kubelet.ts'
import { PATIENT, SHORT_TIMEOUTS, useChaos } from '../support/chaos/tenants.ts'
import { MovableClock, whyNoMovableClock } from '../support/servers/movable-clock.ts'

type EventObject = KubeObject & { readonly reason: string; readonly involvedObject: object }

const clock = new MovableClock()
const fixed = whyNoMovableClock()
const chaos = useChaos('disruption-ends', ['shop'], undefined, {
  proxied: true,
  workerFlags: SHORT_TIMEOUTS,
  environments: fixed === undefined ? { worker: clock.env } : {},
})
afterAll(() => clock.remove())
const shop = () => chaos.of('shop')
let kubelet: ChaosKubelet
beforeAll(() => {
  kubelet = new ChaosKubelet(shop().cluster.kube)
})

const TWO_KINDS = { network: { drop: 30 }, cpuPressure: {} }

const UNTIL_OVER = { timeout: 180_000, interval: 500 }

/** Creates a node, a pod and a Disruption of two kinds, all with this name, and makes the chaos pods ready. */
async function disrupt(name: string, duration = '1h'): Promise<readonly ChaosPodObject[]> {
  await shop().makeNode(name)
  await shop().runPod(name, { labels: { app: name }, node: name })
  const made = await shop().disrupt(name, { selector: { app: name }, count: 1, duration, ...TWO_KINDS })
  const pods = await kubelet.untilPods(made, 2)
  for (const pod of pods) await kubelet.ready(pod)
  return pods
}

/** Does the same, and waits until the status says so. */
async function inject(name: string): Promise<readonly ChaosPodObject[]> {
  const pods = await disrupt(name)
  await shop().until(name, { injectionStatus: 'Injected' })
  return pods
}

async function deleteNow(path: string): Promise<void> {
  await shop().cluster.kube.request('DELETE', path, { body: { gracePeriodSeconds: 0 } })
}

/** Waits until the controller has removed its finalizer from all chaos pods, then removes them as their nodes do. */
async function waitForRelease(pods: readonly ChaosPodObject[]): Promise<void> {
  for (const { metadata } of pods)
    await vi.waitFor(async () => {
      const still = (await kubelet.pods()).find((one) => one.metadata.uid === metadata.uid)
      expect(still?.metadata.finalizers).toBeUndefined()
    }, PATIENT)
  for (const pod of pods) await kubelet.bury(pod)
}

/** Waits until the worker has deleted all chaos pods. */
async function waitForDeletion(pods: readonly ChaosPodObject[], patience = PATIENT): Promise<void> {
  const uids = new Set(pods.map(({ metadata }) => metadata.uid))
  await vi.waitFor(async () => {
    const remaining = (await kubelet.pods()).filter(({ metadata }) => uids.has(metadata.uid))
    expect(remaining.map(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([false, false])
  }, patience)
}

/** Ends the chaos pods as their nodes do; the Disruption's clean-up succeeds. */
async function completeCleanUp(name: string, pods: readonly ChaosPodObject[]): Promise<void> {
  for (const pod of pods) await kubelet.end(pod)
  await vi.waitFor(async () => expect(await kubelet.pods(await shop().get(name))).toEqual([]), PATIENT)
  expect(await shop().reasons('Disruption', name)).not.toContain('StuckOnRemoval')
  await shop().remove(name)
  await shop().gone(name)
}

/** Removes the Disruption's finalizer, as a user does with `kubectl patch` and `kubectl delete`. */
async function forceRemoval(name: string): Promise<void> {
  const { kube } = shop().cluster
  const path = `/apis/chaos.datadoghq.com/v1beta1/namespaces/shop/disruptions/${name}`
  await kube.request('DELETE', path)
  const body = { metadata: { finalizers: null } }
  await kube.request('PATCH', path, { body, contentType: 'application/merge-patch+json' })
  await shop().gone(name)
}

/** The messages of the Events about the end of the duration. */
async function ends(name: string): Promise<readonly string[]> {
  return (await shop().events('Disruption', name)).flatMap(({ reason, message }) =>
    reason === 'DurationOver' ? [message] : [],
  )
}
const BY_ANOTHER_CLOCK = expect.stringContaining(
  "the duration has passed by another clock (Temporal's clock is behind",
) as string

const HOURS = 3600

describe.concurrent('a Disruption', () => {
  it.each([
    ['target', (name: string) => `/api/v1/namespaces/shop/pods/${name}`],
    ['node', (name: string) => `/api/v1/nodes/${name}`],
  ])('ends when its %s is deleted and its chaos pods never end', async (what, path) => {
    const name = `no-${what}`
    const pods = await inject(name)
    await deleteNow(path(name))
    await shop().remove(name)
    await waitForRelease(pods)
    await shop().gone(name)
    expect(await shop().reasons('Disruption', name)).not.toContain('StuckOnRemoval')
  })

  it('whose finalizer a user has removed has its chaos pods deleted, with an Event on each', async () => {
    const pods = await inject('forced')
    await forceRemoval('forced')
    await waitForDeletion(pods)
    // The worker posts Events in the background, also after the deletion.
    await vi.waitFor(async () => {
      const path = `/api/v1/namespaces/${CHAOS_NAMESPACE}/events`
      const { items } = await shop().cluster.kube.request<ObjectList>('GET', path)
      const events = (items as readonly EventObject[]).filter(({ reason }) => reason === 'Orphaned')
      const objects = events.map(({ involvedObject }) => involvedObject)
      const expected = pods.map(({ metadata: { uid } }) => expect.objectContaining({ uid }) as unknown)
      expect(objects).toEqual(expect.arrayContaining(expected))
    }, PATIENT)
    for (const pod of pods) await kubelet.end(pod)
  })

  // X6
  it('is PartiallyInjected while a chaos pod is not ready, and Injected when the pod is ready again', async () => {
    const [one] = await inject('regress')
    await kubelet.ready(one!, false)
    await shop().until('regress', { injectionStatus: 'PartiallyInjected', injectedTargetsCount: 0 })
    await kubelet.ready(one!)
    await shop().until('regress', { injectionStatus: 'Injected', injectedTargetsCount: 1, runCount: 1 })
    await shop().finish(await shop().get('regress'), kubelet)
  })
})

// X4
/** The duration of an injection on this machine at the moment, as an earlier test has measured it. */
let injectionSeconds = 5
const why = fixed === undefined ? '' : ` (skipped: ${fixed})`
describe.skipIf(fixed !== undefined)(`a Disruption while the clock of its worker jumps${why}`, () => {
  it('ends with its chaos pods when the clock jumps past the deadline', async () => {
    const start = performance.now()
    const pods = await inject('forward')
    injectionSeconds = (performance.now() - start) / 1000
    clock.set(2 * HOURS)
    await shop().until('forward', { injectionStatus: 'PreviouslyInjected' })
    await waitForDeletion(pods)
    expect(await ends('forward')).toEqual([BY_ANOTHER_CLOCK])
    await completeCleanUp('forward', pods)
    clock.set(0)
  })

  // One test, because each deadline takes its time.
  it('is injected once and ends at its deadline when the clock jumps back; hanging chaos pods are deleted, and a failed cleanup is reported', async () => {
    // The chaos pods exist before this deadline, also on a busy machine.
    const duration = `${Math.ceil(10 + 4 * injectionSeconds)}s`
    const [pods, [failed, other]] = await Promise.all([disrupt('back', duration), disrupt('unclean', duration)])
    await kubelet.exit(other!, 0)
    await kubelet.exit(failed!, 1)
    clock.set(-2 * HOURS)
    await waitForDeletion(pods, UNTIL_OVER)
    await vi.waitFor(async () => {
      expect(await shop().status('back')).toMatchObject({ injectionStatus: 'PreviouslyInjected', runCount: 1 })
      expect((await shop().status('unclean')).isStuckOnRemoval).toBe(true)
    }, UNTIL_OVER)
    expect(await ends('back')).toHaveLength(1)
    await completeCleanUp('back', pods)
    expect(await shop().reasons('Disruption', 'unclean')).toContain('StuckOnRemoval')
    await kubelet.release(failed!)
    await shop().until('unclean', { isStuckOnRemoval: false })
    await shop().remove('unclean')
    await kubelet.bury(other!)
    await shop().gone('unclean')
    clock.set(0)
  })
})

describe.concurrent('a Disruption whose worker restarts', () => {
  let forced: readonly ChaosPodObject[]

  /** Creates a Disruption while no worker runs. */
  async function disruptUnseen(name: string, duration: string): Promise<number> {
    await shop().makeNode(name)
    await shop().runPod(name, { labels: { app: name }, node: name })
    const made = await shop().disrupt(name, { selector: { app: name }, count: 1, duration, ...TWO_KINDS })
    return Date.parse(made.metadata.creationTimestamp ?? '')
  }

  beforeAll(async () => {
    const { pawl, proxies } = chaos.tenants
    forced = await inject('forced-alone')
    await pawl.kill('worker')
    proxies.worker.arm()
    await disruptUnseen('jumped', '1h')
    const endsAt = (await disruptUnseen('late', '2s')) + 2000
    await forceRemoval('forced-alone')
    await deleteNow('/api/v1/namespaces/shop/pods/forced-alone')
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(endsAt), PATIENT)
    clock.set(2 * HOURS)
    await pawl.startWorker()
  })

  async function endsWithoutPods(name: string): Promise<void> {
    await shop().until(name, { injectionStatus: 'PreviouslyNotInjected' })
    await shop().remove(name)
    await shop().gone(name)
    expect(chaos.tenants.proxies.worker.writes.filter(({ label }) => label === 'POST pods')).toEqual([])
  }

  it('ends without a chaos pod, when its deadline has passed before the restart', async () => {
    await endsWithoutPods('late')
    expect(await ends('late')).toEqual([expect.not.stringContaining('clock')])
  })

  it.skipIf(fixed !== undefined)(
    'ends without a chaos pod when the clock jumps past the deadline while no worker runs',
    async () => {
      await endsWithoutPods('jumped')
      expect(await ends('jumped')).toEqual([BY_ANOTHER_CLOCK])
    },
  )

  it('has its chaos pods released if a user has removed its finalizer meanwhile, also when its target is deleted', async () => {
    await waitForRelease(forced)
  })
})
