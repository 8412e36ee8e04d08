// The namespaces of a load: made so that nothing of the servers' own work in them counts as the engine's, and removed.

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import type { KubeClient } from '../../activities/kube/client.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import { inParallel } from '../../activities/kube/in-parallel.ts'

/** Requests at a time. */
const PARALLEL = 16
const LIMIT_MS = 60_000
const POLL_MS = 100
/** What the servers put into each namespace. */
const GIVEN = ['serviceaccounts/default', 'configmaps/kube-root-ca.crt']

/** Makes so many, with names of their own; returns when they are as complete as they get by themselves. */
export async function createNamespaces(kube: KubeClient, count: number): Promise<readonly string[]> {
  const base = `bench-${randomBytes(4).toString('hex')}`
  const names = Array.from({ length: count }, (_, index) => `${base}-${index}`)
  await inParallel(names, PARALLEL, async (name) => {
    await kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name } } })
    for (const one of GIVEN) {
      const isThere = await untilSo(() => exists(kube, `${pathOf(name)}/${one}`))
      if (!isThere) throw new Error(`namespace ${name}: found no ${one} after ${LIMIT_MS} ms, expected one`)
    }
  })
  return names
}

/** Removes them; waits until they are gone, unless something holds on to them for a minute. */
export async function removeNamespaces(kube: KubeClient, names: readonly string[]): Promise<void> {
  await inParallel(names, PARALLEL, async (name) => {
    await kube.request('DELETE', pathOf(name))
    await untilSo(async () => !(await exists(kube, pathOf(name))))
  })
}

/** False when it did not get so in time. */
async function untilSo(isSo: () => Promise<boolean>): Promise<boolean> {
  for (const deadline = performance.now() + LIMIT_MS; performance.now() < deadline;) {
    if (await isSo()) return true
    await sleep(POLL_MS)
  }
  return false
}

async function exists(kube: KubeClient, path: string): Promise<boolean> {
  try {
    await kube.request('GET', path)
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

function pathOf(name: string): string {
  return `/api/v1/namespaces/${name}`
}
