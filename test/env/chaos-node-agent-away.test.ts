// Node agents that are killed, terminated, or cannot reach the API server: their injectors continue or end in time, and
// the agent reports it afterwards.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kill } from 'node:process'
import { describe, expect, inject, it, vi } from 'vitest'

import { isRunning } from '../../activities/chaos/node-agent/processes.ts'
import { GOOD_INJECTOR } from '../activities/chaos/node-agent/chaos-pods.ts'
import { HttpProxy } from '../support/faults/http-proxy.ts'
import { FINALIZER, PATIENCE, RUNNING, terminated, useNodeAgents } from './node-agent-stage.ts'

const { kubeconfigPath } = inject('servers')
const stage = useNodeAgents(kubeconfigPath, 'chaos-node-agent-away')
const { agents, createPod, removePod, statusOf, until, untilGone, startAgent, killAgent, folders, onlyFolder } = stage

describe('the successor of a killed agent', () => {
  it('continues the injectors that kept running', async () => {
    const first = await startAgent(GOOD_INJECTOR)
    await createPod({ finalizers: [FINALIZER] })
    await until(RUNNING)
    const { injector } = await (await onlyFolder()).traces()
    await killAgent(first)
    expect(await isRunning(injector!)).toBe(true)
    await startAgent('exit 9')
    await removePod()
    await until({ phase: 'Succeeded', ...terminated({ exitCode: 0 }) })
    expect(await readFile((await onlyFolder()).log, 'utf8')).toBe('injected\ncleaned\n')
  })

  it('reports how injectors ended meanwhile', async () => {
    const first = await startAgent(GOOD_INJECTOR)
    await createPod()
    await until(RUNNING)
    const { injector } = await (await onlyFolder()).traces()
    await killAgent(first)
    kill(injector!.pid, 'SIGTERM')
    await vi.waitFor(async () => expect(await isRunning(injector!)).toBe(false), PATIENCE)
    expect((await statusOf())?.phase).toBe('Running')
    await startAgent('exit 9')
    await until({ phase: 'Succeeded', ...terminated({ exitCode: 0, reason: 'Completed' }) })
  })

  it('ends and cleans up injectors of deleted pods', async () => {
    const first = await startAgent(
      'trap "exit 1" TERM; touch "$CHAOS_INJECTOR_READINESS_FILE"; while :; do sleep 0.02; done',
    )
    await createPod()
    await until(RUNNING)
    const { injector } = await (await onlyFolder()).traces()
    await killAgent(first)
    await removePod('chaos-one', 0)
    await untilGone()
    await startAgent('exit 9')
    await vi.waitFor(async () => expect(await folders()).toEqual([]), PATIENCE)
    expect(await isRunning(injector!)).toBe(false)
    expect(await readFile(join(stage.dir, 'swept'), 'utf8')).toBe('swept\n')
  })
})

describe('a terminated agent', () => {
  it('leaves its injectors running by default', async () => {
    const agent = await startAgent(GOOD_INJECTOR)
    await createPod()
    await until(RUNNING)
    const { injector } = await (await onlyFolder()).traces()
    await killAgent(agent, 'SIGTERM')
    expect(agent.exitCode).toBe(0)
    expect(await isRunning(injector!)).toBe(true)
  })

  it('ends its injectors if configured', async () => {
    const agent = await startAgent(GOOD_INJECTOR, '--at-end', 'stop')
    await createPod()
    await until(RUNNING)
    const { injector } = await (await onlyFolder()).traces()
    await killAgent(agent, 'SIGTERM')
    expect(agent.exitCode).toBe(0)
    expect(await isRunning(injector!)).toBe(false)
    await startAgent(GOOD_INJECTOR)
    await until({ phase: 'Succeeded' })
  })
})

describe('while the API server is away', () => {
  it('injectors end in time, and the agent reports it afterwards', async () => {
    const proxy = await HttpProxy.start(kubeconfigPath)
    try {
      await startAgent(GOOD_INJECTOR, '--kubeconfig', proxy.kubeconfigPath)
      await createPod({ activeDeadlineSeconds: 8 })
      await until(RUNNING)
      proxy.reads = { instead: () => ({ status: 503, reason: 'ServiceUnavailable' }) }
      proxy.arm(undefined, () => 'lost before')
      proxy.cutWatches()
      const folder = await onlyFolder()
      await vi.waitFor(async () => expect((await folder.traces()).exit?.text).toBe('0'), PATIENCE)
      expect((await statusOf())?.phase).toBe('Running')
      proxy.reads = {}
      proxy.arm()
      await until({ phase: 'Failed', reason: 'DeadlineExceeded' })
    } finally {
      for (const agent of agents.splice(0)) await killAgent(agent)
      await proxy.stop()
    }
  })

  it('deletions are found afterwards, also when the watch has expired', async () => {
    const proxy = await HttpProxy.start(kubeconfigPath)
    try {
      await startAgent(GOOD_INJECTOR, '--kubeconfig', proxy.kubeconfigPath)
      await createPod()
      await until(RUNNING)
      proxy.reads = { instead: () => ({ status: 503, reason: 'ServiceUnavailable' }) }
      expect(proxy.expireWatches()).toBeGreaterThan(0)
      await removePod('chaos-one', 0)
      await untilGone()
      proxy.reads = {}
      await vi.waitFor(async () => expect(await folders()).toEqual([]), PATIENCE)
    } finally {
      for (const agent of agents.splice(0)) await killAgent(agent)
      await proxy.stop()
    }
  })
})

describe('fake pods', () => {
  it('are ready at once and succeed, with three writes each', async () => {
    const proxy = await HttpProxy.start(kubeconfigPath)
    try {
      const names = Array.from({ length: 30 }, (_, index) => `chaos-${index}`)
      for (const name of names) await createPod({ name })
      await startAgent('exit 9', '--play', 'ready', '--kubeconfig', proxy.kubeconfigPath)
      for (const name of names) await until(RUNNING, name)
      for (const name of names) await removePod(name)
      for (const name of names) await untilGone(name)
      expect(proxy.writes.map(({ label }) => label).sort()).toEqual([
        ...names.map(() => 'DELETE pods'),
        ...names.flatMap(() => ['PATCH pods/status', 'PATCH pods/status']),
      ])
      const ends = proxy.writes.flatMap(({ body }) => (body['status'] as { phase?: string } | undefined)?.phase ?? [])
      expect(ends.sort()).toEqual([...names.map(() => 'Running'), ...names.map(() => 'Succeeded')])
      expect(await folders()).toEqual([])
    } finally {
      for (const agent of agents.splice(0)) await killAgent(agent)
      await proxy.stop()
    }
  })
})
