// Tests journeys of a user of Disruptions on real servers. The test plays the kubelet of the chaos pods. Acceptance scenarios: spec/chaos.md 4.3.

import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { parse } from 'yaml'

import type { KubeObject } from '../../activities/kube/client.ts'
import {
  CHAOS_POD_FINALIZER,
  DISRUPTION_KIND_LABEL,
  FINALIZER,
  kindNamesOf,
  removeFinalizerCommand,
} from '../../workflows/chaos/contract.ts'
import { disruptionFields } from '../../workflows/chaos/disruption/fields.ts'
import type { DisruptionSpec } from '../../workflows/chaos/disruption/kind.ts'
import { ChaosKubelet, keyOf } from '../support/chaos/kubelet.ts'
import { PublishedLists } from '../support/chaos/published-lists.ts'
import { PATIENT, useChaos } from '../support/chaos/tenants.ts'
import { watchFields } from '../support/chaos/watched-fields.ts'
import type { LsObject } from '../support/cluster/cluster.ts'
import { type Ended, runCommand, startCommand } from '../support/pawl/run-command.ts'

const EXAMPLE_FOLDER = new URL('../../examples/chaos/', import.meta.url).pathname
const EXAMPLES = readdirSync(EXAMPLE_FOLDER).filter((file) =>
  /^kind: Disruption$/m.test(readFileSync(join(EXAMPLE_FOLDER, file), 'utf8')),
)
const DISTURBERS = 'disturbers'
const lists = await PublishedLists.start()
afterAll(async () => await lists.close())
const chaos = useChaos('disruption', ['shop'], undefined, {
  cloudProviders: { aws: { ipRangesURL: lists.url('aws') }, gcp: { ipRangesURL: lists.url('gcp') } },
  // Not the default; the other files of Disruptions use the default.
  chaosNamespace: DISTURBERS,
  environments: { worker: { CONTROLLER_NODE_NAME: 'home' } },
})
const shop = () => chaos.of('shop')
let kubelet: ChaosKubelet
beforeAll(async () => {
  kubelet = new ChaosKubelet(shop().cluster.kube, DISTURBERS)
  for (const name of ['n1', 'n2']) await shop().makeNode(name)
  for (const name of ['shop-1', 'shop-2']) await run(name, 'shop', 'n1')
})

describe('a Disruption', () => {
  it('has a chaos pod for each target and kind, is Injected when they are ready, and is cleaned up when it is deleted', async () => {
    await run('web-1', 'web', 'n1')
    await run('web-2', 'web', 'n2')
    await run('other', 'other', 'n1')
    const made = await shop().disrupt('both', {
      selector: { app: 'web' },
      count: 2,
      duration: '10m',
      network: { drop: 30 },
      cpuPressure: {},
      memoryPressure: { targetPercent: '50%' },
    })
    const pods = await vi.waitFor(async () => {
      const found = await kubelet.pods(made)
      expect(found).toHaveLength(6)
      return found
    }, PATIENT)
    expect(pods.map(keyOf)).toEqual([
      ...['cpu-pressure web-1', 'cpu-pressure web-2', 'memory-pressure web-1', 'memory-pressure web-2'],
      ...['network-disruption web-1', 'network-disruption web-2'],
    ])
    for (const pod of pods) {
      expect(pod.metadata.finalizers).toEqual([CHAOS_POD_FINALIZER])
      expect(pod.spec.nodeName).toBe(keyOf(pod).endsWith('web-1') ? 'n1' : 'n2')
    }
    expect((await shop().get('both')).metadata.finalizers).toEqual([FINALIZER])
    expect(await shop().status('both')).toMatchObject({
      injectionStatus: 'NotInjected',
      targets: ['web-1', 'web-2'],
      runCount: 1,
      selectedTargetsCount: 2,
      desiredTargetsCount: 2,
      injectedTargetsCount: 0,
      ignoredTargetsCount: 0,
    })

    for (const pod of pods.slice(0, 2)) await kubelet.ready(pod)
    await shop().until('both', { injectionStatus: 'PartiallyInjected', injectedTargetsCount: 0 })
    for (const pod of pods.slice(2)) await kubelet.ready(pod)
    await shop().until('both', { injectionStatus: 'Injected', injectedTargetsCount: 2 })
    expect(await shop().reasons('Disruption', 'both')).toEqual([...Array<string>(6).fill('ChaosPodCreated'), 'Created'])
    expect(await shop().reasons('Pod', 'web-1')).toEqual(Array<string>(3).fill('Disrupted'))
    expect(await shop().reasons('Pod', 'other')).toEqual([])

    await shop().remove('both')
    await shop().until('both', { injectionStatus: 'PreviouslyInjected' })
    await vi.waitFor(async () => {
      for (const { metadata } of await kubelet.pods(made)) expect(metadata.deletionTimestamp).toBeDefined()
    }, PATIENT)
    for (const pod of pods) await kubelet.end(pod)
    await shop().gone('both')
    expect(await shop().reasons('Disruption', 'both')).toEqual(expect.arrayContaining(['Cleaned', 'Finished']))
    expect(await kubelet.pods(made)).toEqual([])
  })

  it('passes the addresses of cloud services to its chaos pods, and emits an Event when a list is not available (B24)', async () => {
    await run('cloud-1', 'cloud', 'n1')
    lists.instead.set('/gcp', 503)
    const gcp = [{ service: 'Google' }]
    const kinds = { network: { drop: 30, cloud: { aws: [{ service: 'S3', flow: 'egress' }], gcp } }, cpuPressure: {} }
    const made = await shop().disrupt('cloud', { selector: { app: 'cloud' }, count: 1, duration: '10m', ...kinds })
    // Kinds that need no list continue.
    expect((await kubelet.untilPods(made, 1)).map(keyOf)).toEqual(['cpu-pressure cloud-1'])
    await vi.waitFor(async () => {
      const told = (await shop().events('Disruption', 'cloud')).map(({ message }) => message)
      expect(told).toContainEqual(
        expect.stringMatching(
          /^spec.network.cloud: cloudProviders.gcp.ipRangesURL at 127.0.0.1:\d+ answers 503; expected 200$/,
        ),
      )
    }, PATIENT)
    lists.instead.clear()
    await run('cloud-2', 'cloud', 'n1')
    await shop().patch('cloud', { count: 2 })
    const pods = await kubelet.untilPods(made, 4)
    const { args } = pods.find((pod) => keyOf(pod) === 'network-disruption cloud-1')?.spec.containers[0] ?? { args: [] }
    const hosts = args.filter((_, index) => args[index - 1] === '--hosts')
    expect(hosts).toEqual([
      ...['3.5.140.0/22;0;;egress;;;100', '52.219.0.0/20;0;;egress;;;100'],
      ...['8.8.4.0/24;0;;;;;100', '34.0.0.0/15;0;;;;;100'],
    ])
    await shop().finish(made, kubelet)
  })

  it('counts a simulated target in its status, and emits an Event with the commands', async () => {
    await run('simulated-1', 'simulated', 'n1')
    const made = await shop().disrupt('simulated', { selector: { app: 'simulated' }, count: 1, network: { drop: 30 } })
    const [pod] = await kubelet.untilPods(made, 1)
    await kubelet.simulate(pod!, 'tc qdisc add dev eth0')
    await shop().until('simulated', { injectionStatus: 'Injected', simulatedTargetsCount: 1 })
    expect(await shop().status('simulated')).toMatchObject({
      message: 'simulated, because no target has a process; nothing is disturbed',
    })
    expect(await shop().events('Disruption', 'simulated')).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining('tc qdisc add dev eth0') as string }),
    )
    await shop().finish(made, kubelet)
  })

  it('selects new pods, and releases pods when count decreases', async () => {
    await run('dyn-1', 'dyn', 'n1')
    const made = await shop().disrupt('dyn', { selector: { app: 'dyn' }, count: 2, network: { drop: 30 } })
    const [first] = await kubelet.untilPods(made, 1)
    await kubelet.ready(first!)
    await shop().until('dyn', { injectionStatus: 'PartiallyInjected', desiredTargetsCount: 2, selectedTargetsCount: 1 })
    await run('dyn-2', 'dyn', 'n2')
    const both = await kubelet.untilPods(made, 2)
    for (const pod of both) await kubelet.ready(pod)
    await shop().until('dyn', { injectionStatus: 'Injected', selectedTargetsCount: 2 })
    await shop().patch('dyn', { count: 1 })
    await vi.waitFor(async () => {
      const going = (await kubelet.pods(made)).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      expect(going).toHaveLength(1)
    }, PATIENT)
    const [surplus] = (await kubelet.pods(made)).filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    await kubelet.end(surplus!)
    await kubelet.untilPods(made, 1)
    await shop().until('dyn', { injectionStatus: 'Injected', selectedTargetsCount: 1, ignoredTargetsCount: 1 })
    await shop().finish(made, kubelet)
  })

  it('reports that it finds no targets, and does not select the targets of another Disruption', async () => {
    const none = await shop().disrupt('none', { selector: { app: 'nobody' }, count: 1, network: { drop: 30 } })
    await vi.waitFor(
      async () => expect(await shop().reasons('Disruption', 'none')).toEqual(['Created', 'NoTargetsFound']),
      PATIENT,
    )
    expect(await kubelet.pods(none)).toEqual([])
    await run('taken-1', 'taken', 'n1')
    const one = await shop().disrupt('one', { selector: { app: 'taken' }, count: '100%', network: { drop: 30 } })
    await kubelet.untilPods(one, 1)
    const two = await shop().disrupt('two', { selector: { app: 'taken' }, count: 1, network: { drop: 10 } })
    await vi.waitFor(
      async () => expect(await shop().reasons('Disruption', 'two')).toEqual(['Created', 'NoMoreTargets']),
      PATIENT,
    )
    expect(await kubelet.pods(two)).toEqual([])
    const three = await shop().disrupt('three', {
      selector: { app: 'taken' },
      count: 1,
      allowDisruptedTargets: true,
      cpuPressure: {},
    })
    await kubelet.untilPods(three, 1)
    for (const name of ['none', 'one', 'two', 'three']) await shop().remove(name)
    for (const made of [one, three]) for (const pod of await kubelet.pods(made)) await kubelet.end(pod)
    for (const name of ['none', 'one', 'two', 'three']) await shop().gone(name)
  })

  it('ends at an emergency stop of its namespace, and none starts there until the stop is lifted', async () => {
    await run('stopped-1', 'stopped', 'n1')
    const before = await shop().disrupt('stopped', { selector: { app: 'stopped' }, count: 1, network: { drop: 30 } })
    const [pod] = await kubelet.untilPods(before, 1)
    await kubelet.ready(pod!)
    await shop().until('stopped', { injectionStatus: 'Injected' })
    liftAfterTest('-n', 'shop')
    const words = ['stop', '-n', 'shop', '--reason', 'too many alerts', '-o', 'json']
    const stopping = startCommand({}, ...argumentsOf(words))
    await vi.waitFor(
      async () => expect((await shop().get('stopped')).metadata.deletionTimestamp).toBeDefined(),
      PATIENT,
    )
    await kubelet.end(pod!)
    const stopped = await stopping
    expect(stopped).toMatchObject({ code: 0 })
    expect(JSON.parse(stopped.stdout)).toEqual({
      namespace: 'shop',
      asked: 'asked',
      by: 'admin',
      why: 'too many alerts',
      gone: ['shop/stopped'],
      stuck: [],
      left: [],
    })
    const meanwhile = await shop().disrupt('meanwhile', {
      selector: { app: 'stopped' },
      count: 1,
      network: { drop: 30 },
    })
    await shop().gone('meanwhile')
    expect(await kubelet.pods(meanwhile)).toEqual([])
    expect(await shop().reasons('Disruption', 'meanwhile')).toContain('EmergencyStop')
    expect((await pawl('status', '-n', 'shop')).stdout).toBe(
      'namespace shop is stopped: too many alerts (admin); to lift the stop, run: pawl chaos resume -n shop\nno disruptions in namespace shop\n',
    )
    expect(await pawl('resume', '-n', 'shop')).toMatchObject({
      code: 0,
      stderr: '',
      stdout:
        'namespace shop is resumed by admin: Disruptions may be created again (it was stopped: too many alerts (admin))\n',
    })
    const after = await shop().disrupt('lifted', { selector: { app: 'stopped' }, count: 1, network: { drop: 30 } })
    await kubelet.untilPods(after, 1)
    await shop().finish(after, kubelet)
  })

  it('is reported by an emergency stop of the cluster when it is stuck, with the commands that release it', async () => {
    await run('jammed-1', 'jammed', 'n1')
    const made = await shop().disrupt('jammed', { selector: { app: 'jammed' }, count: 1, network: { drop: 30 } })
    const [pod] = await kubelet.untilPods(made, 1)
    await kubelet.ready(pod!)
    await shop().until('jammed', { injectionStatus: 'Injected' })
    liftAfterTest('--all')
    expect(await pawl('stop', '--all', '--timeout', '1ms')).toMatchObject({
      code: 4,
      stderr: '',
      stdout: expect.stringMatching(
        /^shop\/jammed: (?:the clean-up is not finished|no worker has started its clean-up); /m,
      ) as string,
    })
    await kubelet.exit(pod!, 1)
    await shop().until('jammed', { isStuckOnRemoval: true })
    expect((await shop().status('jammed')).targetInjections?.['jammed-1']?.['network-disruption']).toMatchObject({
      injectionStatus: 'IsStuckOnRemoval',
    })
    const { code, stdout } = await pawl('stop', '--all', '--reason', 'not kept: it is stopped already')
    expect(code).toBe(3)
    const [first, ...lines] = stdout
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('1 disruption: '))
    expect(first).toBe('the cluster was already stopped: by admin')
    const { name } = pod!.metadata
    expect(lines).toEqual([
      'shop/jammed is stuck: its chaos pods could not clean up',
      `  network-disruption on jammed-1: undo the changes by hand; their log: kubectl -n ${DISTURBERS} logs ${name}`,
      `    then: ${removeFinalizerCommand(DISTURBERS, name)}`,
      'to allow Disruptions again, run: pawl chaos resume --all',
    ])
    expect((await pawl('resume', '-n', 'shop')).stdout).toBe(
      'namespace shop was not stopped\nthe whole cluster is still stopped: by admin; to lift that stop, run: pawl chaos resume --all\n',
    )
    await kubelet.release(pod!)
    await kubelet.bury(pod!)
    await shop().gone('jammed')
    expect(await pawl('stop', '--all')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('\nno Disruption existed\n') as string,
    })
    expect(await pawl('resume', '--all')).toMatchObject({ code: 0 })
    expect((await pawl('status', '--all')).stdout).toBe(
      'the cluster has no emergency stop\nno disruptions in the cluster\n',
    )
  })

  it('of level node selects ready nodes except the node of its worker, which the status reports', async () => {
    await shop().makeNode('home')
    for (const name of ['n1', 'home']) await shop().labelNode(name, { disk: 'fast' })
    const spec = { level: 'node', staticTargeting: true, count: '100%', cpuPressure: {}, selector: { disk: 'fast' } }
    const made = await shop().disrupt('nodes', spec)
    const [pod] = await kubelet.untilPods(made, 1)
    expect(pod?.spec.nodeName).toBe('n1')
    expect(pod?.spec.containers[0]?.args.slice(0, 7)).toEqual([
      ...['cpu-pressure', '--count', '100%', '--metrics-sink', 'noop', '--level', 'node'],
    ])
    await kubelet.ready(pod!)
    await shop().until('nodes', { injectionStatus: 'Injected', targets: ['n1'], sparedNodes: ['home'] })
    await shop().finish(made, kubelet)
  })

  it.each(EXAMPLES)('of the example %s has the chaos pods that the example describes', async (file) => {
    const example = parse(await readFile(join(EXAMPLE_FOLDER, file), 'utf8')) as KubeObject & { spec: DisruptionSpec }
    const { name } = example.metadata
    const isLater = example.spec.triggers !== undefined
    const made = await shop().cluster.create(example as LsObject & { apiVersion: string }, 'disruptions')
    await vi.waitFor(async () => {
      const pods = await kubelet.pods(made)
      const does = pods.map(({ metadata }) => metadata.labels?.[DISRUPTION_KIND_LABEL])
      expect(new Set(does)).toEqual(new Set(isLater ? [] : kindNamesOf(example.spec)))
      expect((await shop().status(name)).injectionStatus).toBe('NotInjected')
    }, PATIENT)
    const readied = new Set<string>()
    // The worker creates the chaos pods one after the other.
    if (!isLater)
      await vi.waitFor(async () => {
        const fresh = (await kubelet.pods(made)).filter((pod) => !readied.has(keyOf(pod)))
        for (const pod of fresh) await kubelet.ready(pod)
        for (const pod of fresh) readied.add(keyOf(pod))
        expect(await shop().status(name)).toMatchObject({ injectionStatus: 'Injected' })
      }, PATIENT)
    await shop().finish(made, kubelet)
  })
})

// disruption-targets.test.ts covers reports about targets in trouble.
watchFields(chaos, 'shop', {
  owners: [disruptionFields],
  elsewhere: ['Disruption status.ignoredTargets: disruption', 'Disruption status.targetStates: disruption'],
})

function argumentsOf(words: readonly string[]): readonly string[] {
  return ['chaos', ...words, '--kubeconfig', chaos.tenants.pawl.options.servers.kubeconfigPath]
}

/** `pawl chaos`, as the admin. */
async function pawl(...words: readonly string[]): Promise<Ended> {
  return await runCommand(...argumentsOf(words))
}

/** Lifts the stop even if the test fails; otherwise no Disruption of a later test could start. */
function liftAfterTest(...place: readonly string[]): void {
  onTestFinished(async () => {
    expect(await pawl('resume', ...place)).toMatchObject({ code: 0 })
  })
}

const run = async (name: string, app: string, node: string) => await shop().runPod(name, { labels: { app }, node })
