// Tests the program `pawl node-agent` against a real API server: the status of chaos pods whose injectors are short shell scripts, agents that are killed or
// terminated, and an API server that is away.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kill } from 'node:process'
import { describe, expect, inject, it, vi } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { isRunning } from '../../worker/server/process-identity.ts'
import { DEAF_INJECTOR, GOOD_INJECTOR } from '../activities/chaos/pods/chaos-pods.ts'
import {
  FINALIZER,
  mergePatch,
  OTHER_NODE,
  PATIENCE,
  ready,
  RUNNING,
  terminated,
  tracesOf,
  useNodeAgents,
} from './node-agent-stage.ts'

const stage = useNodeAgents(inject('servers').kubeconfigPath, 'chaos-node-agent')
const { kube, pods, createPod, removePod, statusOf, until, untilGone, folderOf, folders } = stage
const { startAgent, startProxiedAgent, killAgent } = stage

/** Waits until the node has released a pod, which exists only because of its finalizer. */
async function untilReleased(name: string): Promise<void> {
  await vi.waitFor(async () => {
    const { metadata } = await kube.request<KubeObject>('GET', pods(name))
    expect(metadata).toMatchObject({ deletionGracePeriodSeconds: 0 })
  }, PATIENCE)
}

describe('a chaos pod on a node without a kubelet', () => {
  it('runs, becomes ready, succeeds when it is deleted, and disappears with its finalizer', async () => {
    await startAgent(GOOD_INJECTOR)
    await createPod({ finalizers: [FINALIZER] })
    const running = await until(RUNNING)
    expect(running.startTime).toBeDefined()
    expect(running).toMatchObject({
      hostIP: '127.0.0.1',
      podIP: '127.0.0.1',
      containerStatuses: [{ name: 'injector', started: true, ready: true, state: { running: {} } }],
    })
    await removePod()
    await until({ phase: 'Succeeded', ...ready('False'), ...terminated({ exitCode: 0, reason: 'Completed' }) })
    await untilReleased('chaos-one')
    await kube.request('PATCH', pods('chaos-one'), mergePatch({ metadata: { finalizers: null } }))
    await untilGone()
    await vi.waitFor(async () => expect(await folders()).toEqual([]), PATIENCE)
    await expect(readFile(join(stage.dir, 'swept'))).rejects.toThrow('ENOENT')
  })

  it('reports the state of its injector, its deadline and its kill, and never runs if it is deleted before its start', async () => {
    const idle = 'while :; do sleep 0.05; done'
    const cases = `chaos-idle) ${idle};; chaos-failed) exit 1;; chaos-deaf) ${DEAF_INJECTOR};;`
    await createPod({ name: 'chaos-never', finalizers: [FINALIZER] })
    await removePod('chaos-never')
    await startAgent(`case $INJECTOR_POD_NAME in ${cases} esac\n${GOOD_INJECTOR}`)
    await createPod({ name: 'chaos-deaf', finalizers: [FINALIZER] })
    await createPod({ name: 'chaos-late', activeDeadlineSeconds: 8 })
    await createPod({ name: 'chaos-idle' })
    await createPod({ name: 'chaos-failed' })
    await createPod({ name: 'chaos-machine', args: ['cpu-pressure', '--level', 'node'] })
    await createPod({ name: 'chaos-other', node: OTHER_NODE })
    await createPod()
    await until(RUNNING, 'chaos-deaf')
    await removePod('chaos-deaf', 1)
    await until(RUNNING)
    await until(
      { phase: 'Running', ...ready('False'), containerStatuses: [{ ready: false, started: true }] },
      'chaos-idle',
    )
    await until({ phase: 'Failed', ...terminated({ exitCode: 1, reason: 'Error' }) }, 'chaos-failed')
    await until({ phase: 'Failed', ...terminated({ exitCode: 137, reason: 'Error' }) }, 'chaos-deaf')
    const message =
      '--level node: it would disturb this machine; start the node agent with --node-level allow to permit it'
    await until({ phase: 'Failed', ...terminated({ exitCode: 128, reason: 'StartError', message }) }, 'chaos-machine')
    expect((await statusOf('chaos-other'))?.phase).toBe('Pending')
    await untilReleased('chaos-never')
    expect((await statusOf('chaos-never'))?.phase).toBe('Pending')
    await until({ phase: 'Failed', reason: 'DeadlineExceeded', ...terminated({ exitCode: 0 }) }, 'chaos-late')
    // A pod without a finalizer is deleted as soon as its injector has ended.
    await removePod()
    await untilGone()
  })

  it('gets its environment and the processes of its target, also after a restart', async () => {
    const processes = (pid: number) => ({ annotations: { 'pawl.dev/processes': `{"app":${pid}}` } })
    const spec = { nodeName: OTHER_NODE, containers: [{ name: 'app', image: 'app' }] }
    await kube.request('POST', pods(), { body: { metadata: { name: 'app', ...processes(4321) }, spec } })
    const script =
      'echo "$INJECTOR_POD_NAME $TARGET_POD_HOST_IP $CHAOS_INJECTOR_MOUNT_HOST $@ $CHAOS_INJECTOR_CONTAINERS"'
    await startAgent(`${script}\n${GOOD_INJECTOR}`, '--host-ip', '10.1.2.3')
    await createPod({ args: ['cpu-pressure', '--path', '/mnt/host/data'] })
    await until({ ...RUNNING, hostIP: '10.1.2.3' })
    const files = (await folderOf()).container('injector')
    const { log } = files.run(0)
    const containers = join(files.root, 'containers.json')
    expect(await readFile(log, 'utf8')).toContain(`chaos-one 10.1.2.3 / cpu-pressure --path /data ${containers}\n`)
    expect(await readFile(containers, 'utf8')).toBe('{"app":4321}')
    await kube.request('PATCH', pods('app'), mergePatch({ metadata: processes(5432) }))
    await vi.waitFor(async () => expect(await readFile(containers, 'utf8')).toBe('{"app":5432}'), PATIENCE)
  })
})

/** The process of the injector of a running pod. */
async function injectorOf(name?: string) {
  await until(RUNNING, name)
  return (await tracesOf(await folderOf(name))).process!
}

describe('an injector whose agent has ended', () => {
  it('continues with the next agent, which reports the ends of other injectors and cleans up after deleted pods', async () => {
    const unclean = 'trap "exit 1" TERM; touch "$CHAOS_INJECTOR_READINESS_FILE"; while :; do sleep 0.02; done'
    const agent = await startAgent(`case $INJECTOR_POD_NAME in chaos-gone) ${unclean};; esac\n${GOOD_INJECTOR}`)
    for (const name of ['chaos-one', 'chaos-ended', 'chaos-gone']) await createPod({ name })
    const [one, ended, gone] = [await injectorOf(), await injectorOf('chaos-ended'), await injectorOf('chaos-gone')]
    const { log } = (await folderOf()).container('injector').run(0)
    await killAgent(agent)
    kill(ended.pid, 'SIGTERM')
    await vi.waitFor(() => expect(isRunning(ended)).toBe(false), PATIENCE)
    expect((await statusOf('chaos-ended'))?.phase).toBe('Running')
    await removePod('chaos-gone', 0)
    await untilGone('chaos-gone')
    expect([isRunning(one), isRunning(gone)]).toEqual([true, true])
    await startAgent('exit 9')
    await until({ phase: 'Succeeded', ...terminated({ exitCode: 0, reason: 'Completed' }) }, 'chaos-ended')
    await vi.waitFor(async () => expect(await readFile(join(stage.dir, 'swept'), 'utf8')).toBe('swept\n'), PATIENCE)
    await vi.waitFor(() => expect(isRunning(gone)).toBe(false), PATIENCE)
    expect(await readFile(log, 'utf8')).toBe('injected\n')
    await removePod()
    await untilGone()
  })

  it('continues after a termination by default, and ends if configured', async () => {
    const first = await startAgent(GOOD_INJECTOR)
    await createPod()
    const injector = await injectorOf()
    await killAgent(first, 'SIGTERM')
    expect([first.exitCode, isRunning(injector)]).toEqual([0, true])
    const second = await startAgent(GOOD_INJECTOR, '--at-end', 'stop')
    await createPod({ name: 'chaos-two' })
    await until(RUNNING, 'chaos-two')
    await killAgent(second, 'SIGTERM')
    expect([second.exitCode, isRunning(injector)]).toEqual([0, false])
    await startAgent(GOOD_INJECTOR)
    await until({ phase: 'Succeeded' })
  })
})

describe('while the API server is away', () => {
  it('injectors end in time, and the agent reports it afterwards, and finds deletions although its watch has expired', async () => {
    const proxy = await startProxiedAgent(GOOD_INJECTOR)
    await createPod({ activeDeadlineSeconds: 8 })
    await createPod({ name: 'chaos-gone' })
    await until(RUNNING)
    const injector = await injectorOf('chaos-gone')
    proxy.reads = { instead: () => ({ status: 503, reason: 'ServiceUnavailable' }) }
    proxy.arm(undefined, () => 'lost before')
    expect(proxy.expireWatches()).toBeGreaterThan(0)
    await removePod('chaos-gone', 0)
    await untilGone('chaos-gone')
    const folder = await folderOf()
    await vi.waitFor(async () => expect((await tracesOf(folder)).exit?.text).toBe('0'), PATIENCE)
    expect((await statusOf())?.phase).toBe('Running')
    proxy.reads = {}
    proxy.arm()
    await until({ phase: 'Failed', reason: 'DeadlineExceeded' })
    await vi.waitFor(() => expect(isRunning(injector)).toBe(false), PATIENCE)
    await vi.waitFor(async () => expect(await folders()).toHaveLength(1), PATIENCE)
  })
})

describe('fake pods', () => {
  it('are ready at once and succeed, with three writes each', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `chaos-${index}`)
    for (const name of names) await createPod({ name })
    const proxy = await startProxiedAgent('exit 9', '--play', 'ready')
    for (const name of names) await until(RUNNING, name)
    for (const name of names) await removePod(name)
    for (const name of names) await untilGone(name)
    // A pod is gone before the proxy has the answer to its deletion.
    await vi.waitFor(() => expect(proxy.writes).toHaveLength(3 * names.length), PATIENCE)
    expect(proxy.writes.map(({ label }) => label).sort()).toEqual([
      ...names.map(() => 'DELETE pods'),
      ...names.flatMap(() => ['PATCH pods/status', 'PATCH pods/status']),
    ])
    const ends = proxy.writes.flatMap(({ body }) => (body['status'] as { phase?: string } | undefined)?.phase ?? [])
    expect(ends.sort()).toEqual([...names.map(() => 'Running'), ...names.map(() => 'Succeeded')])
    expect(await folders()).toEqual([])
  })
})
