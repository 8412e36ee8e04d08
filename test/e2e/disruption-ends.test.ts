// Tests the end of a Disruption after a fault: a deleted target or node, an injector that hangs or fails, a worker that is down, a clock that jumps, a removed
// finalizer. The worker uses a clock that the tests set. Source: spec/chaos.md 8.5, X4 and X6; seeds/chaos-controller.txt
// "Cleanup phase".

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'

import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { CHAOS_NAMESPACE } from '../../workflows/chaos/config.ts'
import { type ChaosPodObject, ChaosKubelet } from '../support/chaos/kubelet.ts'
import { PATIENT, useChaos } from '../support/chaos/tenants.ts'
import { MovableClock, whyNoMovableClock } from '../support/servers/movable-clock.ts'

const DISTURBERS = 'disturbers'
type EventObject = KubeObject & { readonly reason: string; readonly involvedObject: object }

const clock = new MovableClock()
const fixed = whyNoMovableClock()
const chaos = useChaos('disruption-ends', ['shop'], undefined, {
  proxied: true,
  environments: fixed === undefined ? { worker: clock.env } : {},
})
afterAll(() => clock.remove())
const shop = () => chaos.of('shop')
let kubelet: ChaosKubelet
beforeAll(() => {
  kubelet = new ChaosKubelet(shop().cluster.kube)
})

const TWO_KINDS = { network: { drop: 30 }, cpuPressure: {} }

// The chaos pods exist before this deadline, also on a busy machine.
const SHORT = '30s'
const UNTIL_OVER = { timeout: 120_000, interval: 500 }

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

/** Creates a namespace with the ServiceAccount of chaos pods. */
async function makeNamespace(name: string): Promise<void> {
  const { kube } = shop().cluster
  await kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name } } })
  const body = { metadata: { name: 'chaos-injector' } }
  await kube.request('POST', `/api/v1/namespaces/${name}/serviceaccounts`, { body })
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

describe('a Disruption ends', () => {
  it.each([
    ['target', (name: string) => `/api/v1/namespaces/shop/pods/${name}`],
    ['node', (name: string) => `/api/v1/nodes/${name}`],
  ])('when its %s is deleted and its chaos pods never end', async (what, path) => {
    const name = `no-${what}`
    const pods = await inject(name)
    await deleteNow(path(name))
    await shop().remove(name)
    await waitForRelease(pods)
    await shop().gone(name)
    expect(await shop().reasons('Disruption', name)).not.toContain('StuckOnRemoval')
  })

  // X4. The restarted worker and all later tests use another namespace for chaos pods. Existing chaos pods stay where they are.
  it('without a chaos pod, when its worker restarts after its deadline', async () => {
    const { pawl } = chaos.tenants
    const previous = await inject('previous')
    const late = await disruptAndKillWorker('late', '5s')
    const endsAt = Date.parse(late.metadata.creationTimestamp ?? '') + 5000
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(endsAt), { timeout: 30_000, interval: 50 })
    await makeNamespace(DISTURBERS)
    chaos.configure({ chaosNamespace: DISTURBERS })
    await pawl.startWorker()
    await endsWithoutPods('late')
    expect(await shop().status('previous')).toMatchObject({
      injectionStatus: 'Injected',
      chaosNamespace: CHAOS_NAMESPACE,
    })
    await shop().remove('previous')
    await waitForDeletion(previous)
    for (const pod of previous) await kubelet.end(pod)
    await shop().gone('previous')
    kubelet = new ChaosKubelet(shop().cluster.kube, DISTURBERS)
  })
})

/** Creates a Disruption, and kills the worker before its first write to it. */
async function disruptAndKillWorker(name: string, duration: string) {
  const { pawl, proxies } = chaos.tenants
  await shop().makeNode(name)
  await shop().runPod(name, { labels: { app: name }, node: name })
  const killed = new Promise<void>((resolve) => {
    proxies.worker.arm({
      at: { label: 'PATCH disruptions/status', nth: 1 },
      when: 'before',
      async act() {
        await pawl.kill('worker')
        resolve()
        return 'cut'
      },
    })
  })
  const made = await shop().disrupt(name, { selector: { app: name }, count: 1, duration, ...TWO_KINDS })
  await killed
  return made
}

/** The worker has created no chaos pod since disruptAndKillWorker. */
async function endsWithoutPods(name: string): Promise<void> {
  await shop().until(name, { injectionStatus: 'PreviouslyNotInjected' })
  expect(chaos.tenants.proxies.worker.writes.filter(({ label }) => label === 'POST pods')).toEqual([])
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

// X4
const HOURS = 3600
const why = fixed === undefined ? '' : ` (skipped: ${fixed})`
describe.skipIf(fixed !== undefined)(`a Disruption while the clock of its worker jumps${why}`, () => {
  afterEach(() => {
    clock.set(0)
  })

  async function endedEarly(name: string): Promise<void> {
    const ends = (await shop().events('Disruption', name)).filter(({ reason }) => reason === 'DurationOver')
    expect(ends.map(({ message }) => message)).toEqual([
      expect.stringContaining("its time is over by a clock that Temporal's is behind"),
    ])
  }

  // One test, because each deadline takes its time.
  it('is injected once and ends at its deadline when the clock jumps back; hanging chaos pods are deleted, and a failed cleanup is reported', async () => {
    const [pods, [failed, other]] = await Promise.all([disrupt('back', SHORT), disrupt('unclean', SHORT)])
    await kubelet.exit(other!, 0)
    await kubelet.exit(failed!, 1)
    clock.set(-2 * HOURS)
    await waitForDeletion(pods, UNTIL_OVER)
    await vi.waitFor(async () => {
      expect(await shop().status('back')).toMatchObject({ injectionStatus: 'PreviouslyInjected', runCount: 1 })
      expect((await shop().status('unclean')).isStuckOnRemoval).toBe(true)
    }, UNTIL_OVER)
    expect(await shop().reasons('Disruption', 'back')).toContain('DurationOver')
    await completeCleanUp('back', pods)
    expect(await shop().reasons('Disruption', 'unclean')).toContain('StuckOnRemoval')
    await kubelet.release(failed!)
    await shop().until('unclean', { isStuckOnRemoval: false })
    await shop().remove('unclean')
    await kubelet.bury(other!)
    await shop().gone('unclean')
  })

  it('ends with its chaos pods when the clock jumps past the deadline', async () => {
    const pods = await inject('forward')
    clock.set(2 * HOURS)
    await shop().until('forward', { injectionStatus: 'PreviouslyInjected' })
    await waitForDeletion(pods)
    await endedEarly('forward')
    await completeCleanUp('forward', pods)
  })

  it('ends without a chaos pod when the clock jumps past the deadline while no worker runs', async () => {
    await disruptAndKillWorker('jumped', '1h')
    clock.set(2 * HOURS)
    await chaos.tenants.pawl.startWorker()
    await shop().until('jumped', { injectionStatus: 'PreviouslyNotInjected' })
    await endedEarly('jumped')
    await endsWithoutPods('jumped')
  })
})

describe('a Disruption whose finalizer a user has removed', () => {
  it('has its chaos pods deleted, with an Event on each', async () => {
    const pods = await inject('forced')
    await forceRemoval('forced')
    await waitForDeletion(pods)
    // The worker posts Events in the background, also after the deletion.
    await vi.waitFor(async () => {
      const path = `/api/v1/namespaces/${DISTURBERS}/events`
      const { items } = await shop().cluster.kube.request<ObjectList>('GET', path)
      const events = (items as readonly EventObject[]).filter(({ reason }) => reason === 'Orphaned')
      const objects = events.map(({ involvedObject }) => involvedObject)
      const expected = pods.map(({ metadata: { uid } }) => expect.objectContaining({ uid }) as unknown)
      expect(objects).toEqual(expect.arrayContaining(expected))
    }, PATIENT)
    for (const pod of pods) await kubelet.end(pod)
  })

  it('has its chaos pods released by a worker that was down meanwhile, also when their target is deleted', async () => {
    const { pawl } = chaos.tenants
    const pods = await inject('forced-alone')
    await pawl.kill('worker')
    await forceRemoval('forced-alone')
    await deleteNow('/api/v1/namespaces/shop/pods/forced-alone')
    await pawl.startWorker()
    await waitForRelease(pods)
  })
})

describe('a Disruption', () => {
  // X6
  it('is PartiallyInjected while a chaos pod is not ready, and Injected when the pod is ready again', async () => {
    const [one, other] = await inject('regress')
    await kubelet.ready(one!, false)
    await shop().until('regress', { injectionStatus: 'PartiallyInjected', injectedTargetsCount: 0 })
    await kubelet.ready(one!)
    await shop().until('regress', { injectionStatus: 'Injected', injectedTargetsCount: 1, runCount: 1 })
    await shop().remove('regress')
    for (const pod of [one!, other!]) await kubelet.end(pod)
    await shop().gone('regress')
  })
})
