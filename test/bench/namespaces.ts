// Namespaces of a measurement. They are complete before it starts, so that writes of Kubernetes' own controllers do not count.

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

import type { KubeClient } from '../../activities/kube/client.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import { inParallel } from '../../activities/kube/in-parallel.ts'

/** Requests at a time. */
const PARALLEL = 16
const LIMIT_MS = 60_000
const POLL_MS = 100
/** The objects that Kubernetes creates in each namespace. */
const DEFAULT_OBJECTS = ['serviceaccounts/default', 'configmaps/kube-root-ca.crt']

/** Creates namespaces with random names, and waits until Kubernetes has created its objects in them. */
export async function createNamespaces(kube: KubeClient, count: number): Promise<readonly string[]> {
  const base = `bench-${randomBytes(4).toString('hex')}`
  const names = Array.from({ length: count }, (_, index) => `${base}-${index}`)
  await inParallel(names, PARALLEL, async (name) => {
    await kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name } } })
    for (const one of DEFAULT_OBJECTS) {
      const isComplete = await waitUntil(() => exists(kube, `${pathOf(name)}/${one}`))
      if (!isComplete) throw new Error(`namespace ${name}: ${one} is missing after ${LIMIT_MS} ms`)
    }
  })
  return names
}

/** Deletes the namespaces and waits up to a minute until they do not exist. */
export async function removeNamespaces(kube: KubeClient, names: readonly string[]): Promise<void> {
  await inParallel(names, PARALLEL, async (name) => {
    await kube.request('DELETE', pathOf(name))
    await waitUntil(async () => !(await exists(kube, pathOf(name))))
  })
}

/** @returns false after the limit. */
async function waitUntil(isTrue: () => Promise<boolean>): Promise<boolean> {
  for (const deadline = performance.now() + LIMIT_MS; performance.now() < deadline;) {
    if (await isTrue()) return true
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
