// Tests the program `pawl node-agent` against a real API server: the status of chaos pods whose injectors are short shell scripts.
// chaos-node-agent-away.test.ts tests agents that die, and an API server that is away.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, inject, it, vi } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { DEAF_INJECTOR, GOOD_INJECTOR } from '../activities/chaos/node-agent/chaos-pods.ts'
import {
  FINALIZER,
  mergePatch,
  OTHER_NODE,
  PATIENCE,
  ready,
  RUNNING,
  terminated,
  useNodeAgents,
} from './node-agent-stage.ts'

const namespace = 'chaos-node-agent'
const stage = useNodeAgents(inject('servers').kubeconfigPath, namespace)
const { kube, pods, createPod, removePod, statusOf, until, untilGone, startAgent, folders, onlyFolder } = stage

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
    // The pod is released and exists only because of its finalizer.
    await vi.waitFor(async () => {
      const { metadata } = await kube.request<KubeObject>('GET', pods('chaos-one'))
      expect(metadata).toMatchObject({ deletionGracePeriodSeconds: 0 })
    }, PATIENCE)
    await kube.request('PATCH', pods('chaos-one'), mergePatch({ metadata: { finalizers: null } }))
    await untilGone()
    await vi.waitFor(async () => expect(await folders()).toEqual([]), PATIENCE)
    await expect(readFile(join(stage.dir, 'swept'))).rejects.toThrow('ENOENT')
  })

  it('reports the state of its injector', async () => {
    const idle = 'while :; do sleep 0.05; done'
    await startAgent(`case $INJECTOR_POD_NAME in chaos-idle) ${idle};; chaos-failed) exit 1;; esac\n${GOOD_INJECTOR}`)
    await createPod({ name: 'chaos-idle' })
    await createPod({ name: 'chaos-failed' })
    await createPod({ name: 'chaos-machine', args: ['cpu-pressure', '--level', 'node'] })
    await createPod({ name: 'chaos-other', node: OTHER_NODE })
    await createPod()
    await until(RUNNING)
    await until(
      { phase: 'Running', ...ready('False'), containerStatuses: [{ ready: false, started: true }] },
      'chaos-idle',
    )
    await until({ phase: 'Failed', ...terminated({ exitCode: 1, reason: 'Error' }) }, 'chaos-failed')
    const message = '--level node: this machine itself would be disturbed, expected --node-level allow'
    await until({ phase: 'Failed', ...terminated({ exitCode: 128, reason: 'StartError', message }) }, 'chaos-machine')
    expect((await statusOf('chaos-other'))?.phase).toBe('Pending')
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
    const { log, containers } = await onlyFolder()
    expect(await readFile(log, 'utf8')).toContain(`chaos-one 10.1.2.3 / cpu-pressure --path /data ${containers}\n`)
    expect(await readFile(containers, 'utf8')).toBe('{"app":4321}')
    await kube.request('PATCH', pods('app'), mergePatch({ metadata: processes(5432) }))
    await vi.waitFor(async () => expect(await readFile(containers, 'utf8')).toBe('{"app":5432}'), PATIENCE)
  })

  it('fails when its injector cannot be started', async () => {
    await startAgent(GOOD_INJECTOR, '--injector', '/no/such/injector')
    await createPod()
    await until({ phase: 'Failed', ...terminated({ exitCode: 128, reason: 'StartError' }) })
  })

  it('fails at its deadline, although its injector has cleaned up', async () => {
    await startAgent(GOOD_INJECTOR)
    await createPod({ activeDeadlineSeconds: 8 })
    await until({ phase: 'Failed', reason: 'DeadlineExceeded', ...terminated({ exitCode: 0 }) })
    expect(await readFile((await onlyFolder()).log, 'utf8')).toBe('injected\ncleaned\n')
  })

  it('is killed after its grace period if its injector does not end', async () => {
    await startAgent(DEAF_INJECTOR)
    await createPod({ finalizers: [FINALIZER] })
    await until(RUNNING)
    await removePod('chaos-one', 1)
    await until({ phase: 'Failed', ...terminated({ exitCode: 137, reason: 'Error' }) })
  })

  it('never runs if it is deleted before its start', async () => {
    await createPod({ finalizers: [FINALIZER] })
    await removePod()
    await startAgent(GOOD_INJECTOR)
    await vi.waitFor(async () => {
      const { metadata } = await kube.request<KubeObject>('GET', pods('chaos-one'))
      expect(metadata).toMatchObject({ deletionGracePeriodSeconds: 0 })
    }, PATIENCE)
    expect((await statusOf())?.phase).toBe('Pending')
    expect(await folders()).toEqual([])
  })
})

describe("a chaos pod with Pawl's injector", () => {
  it('disturbs the process of its target, and is released after the clean-up', async () => {
    const target = spawn('sleep', ['1000'], { stdio: 'ignore' })
    const ended = once(target, 'exit')
    try {
      const metadata = { name: 'app', annotations: { 'pawl.dev/processes': `{"app":${target.pid}}` } }
      const spec = { nodeName: OTHER_NODE, containers: [{ name: 'app', image: 'app' }] }
      await kube.request('POST', pods(), { body: { metadata, spec } })
      const { containerStatuses: [app] = [] } = await until({ phase: 'Running' }, 'app')
      const id = (app as unknown as { readonly containerID: string }).containerID
      expect(id).toMatch(/^kwok:\/\//)
      await startAgent(undefined)
      await createPod({
        finalizers: [FINALIZER],
        args: [
          ...['container-failure', '--forced', '--level', 'pod', '--target-containers', `app;${id}`],
          ...['--chaos-namespace', namespace, '--log-context-target-name', 'app'],
          ...['--log-context-disruption-namespace', namespace],
        ],
      })
      expect(await ended).toEqual([null, 'SIGKILL'])
      await until(RUNNING)
      await removePod()
      // The injector removes the finalizer after its clean-up.
      await untilGone()
      await vi.waitFor(async () => expect(await folders()).toEqual([]), PATIENCE)
    } finally {
      target.kill('SIGKILL')
    }
  })
})
