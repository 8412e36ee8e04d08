// The agent with a small API server and played pods: which pods it runs and which it ignores.

import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import type { KubeClient, KubeObject } from '../../../activities/kube/client.ts'
import { KubeError } from '../../../activities/kube/errors.ts'
import { type AgentSettings, NodeAgent } from '../../../worker/node-agent/agent.ts'
import { PodFolder } from '../../../worker/node-agent/pod-folder.ts'
import { storedPod } from './pods.ts'

let state: string
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'node-agent-'))
})
afterEach(async () => {
  await rm(state, { recursive: true })
})

/** Lists these pods, then sends events one by one; records the writes. */
function server(pods: readonly KubeObject[]) {
  const writes: string[] = []
  let tell: (line: object) => void = () => undefined
  async function* body(signal: AbortSignal) {
    const lines: object[] = []
    let wake: () => void = () => undefined
    tell = (line) => {
      lines.push(line)
      wake()
    }
    signal.addEventListener('abort', () => wake())
    while (!signal.aborted) {
      const line = lines.shift()
      if (line !== undefined) yield Buffer.from(`${JSON.stringify(line)}\n`)
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  const kube: Pick<KubeClient, 'request' | 'stream'> = {
    request: async <T>(method: string, path: string) => {
      if (method === 'GET') return await Promise.resolve({ metadata: { resourceVersion: '10' }, items: pods } as T)
      writes.push(`${method} ${path.replace(/.*pods\//, '')}`)
      throw new KubeError('gone', { status: 404, reason: 'NotFound' })
    },
    stream: async (_path, signal) => await Promise.resolve({ statusCode: 200, headers: {}, body: body(signal) }),
  }
  return { kube, writes, tell: (type: string, object: KubeObject) => tell({ type, object }) }
}

const warnings: string[] = []
const log = { info: () => undefined, warn: (_: object, message: string) => void warnings.push(message) }
beforeEach(() => {
  warnings.length = 0
})

function agentOf(kube: Pick<KubeClient, 'request' | 'stream'>, more: Partial<AgentSettings> = {}): NodeAgent {
  const settings: AgentSettings = {
    nodes: new Set(['node-1']),
    state,
    isPlayed: false,
    hostIP: '127.0.0.1',
    providesVolumes: false,
    restartDelayMs: 1,
    atEnd: 'leave',
    ...more,
  }
  const process = async () => await Promise.resolve({ argv: ['false'], env: {} })
  return new NodeAgent({ kube, settings, wings: [{ name: 'test', labels: ['app'], pods: { process } }], log })
}

async function running(
  kube: Pick<KubeClient, 'request' | 'stream'>,
  settings: Partial<AgentSettings>,
  act: () => Promise<void>,
): Promise<void> {
  const end = new AbortController()
  const done = agentOf(kube, settings).run(end.signal)
  try {
    await act()
  } finally {
    end.abort()
    await done
  }
}

const PLAYED = { isPlayed: true }

describe('a node agent', () => {
  it('runs pods of its nodes only', async () => {
    const pods = [
      storedPod({ uid: 'a', name: 'mine' }),
      storedPod({ uid: 'b', name: 'others', node: 'node-2' }),
      storedPod({ uid: 'c', name: 'unplaced', node: '' }),
    ]
    const { kube, writes } = server(pods)
    await running(kube, PLAYED, async () => {
      await vi.waitFor(() => expect(writes).toEqual(['PATCH mine/status']))
    })
    expect(writes).toEqual(['PATCH mine/status'])
  })

  it('does not run a deleted pod again after a late event', async () => {
    const pod = storedPod({ name: 'gone' })
    const { kube, writes, tell } = server([pod])
    await running(kube, PLAYED, async () => {
      // The write gets 404 because the watch is behind.
      await vi.waitFor(() => expect(writes).toEqual(['PATCH gone/status']))
      tell('MODIFIED', storedPod({ name: 'gone', version: 11 }))
      tell('DELETED', storedPod({ name: 'gone', version: 12 }))
      tell('ADDED', storedPod({ name: 'gone', uid: 'uid-2', version: 13 }))
      await vi.waitFor(() => expect(writes).toHaveLength(2))
    })
    expect(writes).toEqual(['PATCH gone/status', 'PATCH gone/status'])
  })

  it('leaves pods of other nodes and unreadable folders unchanged', async () => {
    const folder = new PodFolder(join(state, 'pods', 'uid-9'))
    const pod = storedPod({ uid: 'uid-9', node: 'node-2' })
    await folder.write({ version: 2, wing: 'test', pod, acceptedMs: 1, bootId: 'b', podIP: '127.64.0.1' })
    await mkdir(join(state, 'pods', 'strange'))
    await writeFile(join(state, 'pods', 'strange', 'pod.json'), '{')
    const { kube } = server([])
    await running(kube, {}, async () => {
      await vi.waitFor(() => expect(warnings).toHaveLength(2))
    })
    expect(warnings.sort()).toEqual([
      'ignored a folder that cannot be read',
      'ignored a pod that this node agent does not run',
    ])
    expect((await readdir(join(state, 'pods'))).sort()).toEqual(['strange', 'uid-9'])
  })

  it('is the only agent of its folder', async () => {
    const { kube } = server([])
    await running(kube, { nodes: undefined }, async () => {
      await vi.waitFor(async () => expect(await readdir(state)).toContain('agent.json'))
      const second = agentOf(kube)
      await expect(second.run(AbortSignal.timeout(1))).rejects.toThrow(
        `${state}: the node agent with process ${process.pid} uses this folder; stop that agent, or choose another folder`,
      )
    })
    expect(await readdir(state)).toEqual(['pods'])
  })
})
