// The engine's own cluster as a target, through ServiceAccounts of users: against a real API server with RBAC.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

import { toDeployError } from '../../activities/landscaper/deploy/run/deploy-errors.ts'
import { createTargetAccess } from '../../activities/landscaper/deploy/target/open-target.ts'
import type { TargetCluster } from '../../activities/landscaper/deploy/target/target-cluster.ts'
import { createKubeClient, type KubeObject } from '../../activities/kube/client.ts'
import { LISTED_TARGETS } from '../support/pawl/pawl.ts'
import { failure, until, useTargetStage, whoami } from './target-stage.ts'
import { dataOf } from '../activities/landscaper/tenant-data.ts'

const NAMESPACE = 'target-self'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const stage = useTargetStage(NAMESPACE)
const open = (name: string) => stage().open(name)
const target = (name: string, spec: object) => stage().target(name, spec)

describe('a Target with selfConfig', () => {
  const account = async (name: string) =>
    await stage().admin.request('POST', `${stage().core}/serviceaccounts`, { body: { metadata: { name } } })
  const self = async (name: string, more: object = {}) => {
    await account(name)
    await target(name, { config: { selfConfig: { serviceAccount: { name }, ...more } } })
  }
  const allow = async (name: string, roleRef: { kind: string; name: string }, subject = name) => {
    const subjects = [{ kind: 'ServiceAccount', name: subject, namespace: NAMESPACE }]
    const body = { metadata: { name }, subjects, roleRef: { apiGroup: 'rbac.authorization.k8s.io', ...roleRef } }
    await stage().admin.request('POST', `${RBAC}/namespaces/${NAMESPACE}/rolebindings`, { body })
  }
  const maps = (cluster: TargetCluster) =>
    cluster.kube.request<{ items: readonly KubeObject[] }>('GET', `${stage().core}/configmaps`)

  it('acts as its ServiceAccount, never as the engine', async () => {
    await self('plain')
    const cluster = await open('plain')
    expect(await whoami(cluster)).toBe(`system:serviceaccount:${NAMESPACE}:plain`)
    const refused = await failure(() => maps(cluster))
    expect(refused).toMatchObject({ reason: 'Forbidden', codes: [], isFinal: false })
    expect(refused.message).toContain('configmaps')
  })

  it('gets new rights of its ServiceAccount without being opened again', async () => {
    await self('granted')
    const cluster = await open('granted')
    await allow('granted', { kind: 'ClusterRole', name: 'view' })
    await until(async () => (await maps(cluster).catch(() => undefined)) !== undefined)
    expect(await open('granted')).toBe(cluster)
    expect((await failure(() => cluster.kube.request('GET', '/api/v1/nodes'))).reason).toBe('Forbidden')
  })

  it('T10: gets a new token after most of the life of the old one', async () => {
    await self('renewed', { expirationSeconds: 1000 })
    const first = await open('renewed')
    stage().nowMs += 799_000
    expect(await open('renewed')).toBe(first)
    stage().nowMs += 2000
    const [second, third] = await Promise.all([open('renewed'), open('renewed')])
    expect(second).not.toBe(first)
    expect(third).toBe(second)
    expect(await whoami(second)).toBe(await whoami(first))
  })

  it('is retried with a new token when its ServiceAccount was recreated', async () => {
    await self('reborn')
    const first = await open('reborn')
    await stage().admin.request('DELETE', `${stage().core}/serviceaccounts/reborn`)
    await account('reborn')
    let refused: Awaited<ReturnType<typeof failure>> | undefined
    // The server remembers for some seconds that a token is good.
    await until(async () => {
      const result = await whoami(first).catch((error: unknown) => toDeployError('Test', error))
      if (typeof result !== 'string') refused = result
      return typeof result !== 'string'
    })
    expect(refused).toMatchObject({ reason: 'Unauthorized', codes: [], isFinal: false })
    expect(await whoami(await open('reborn'))).toBe(`system:serviceaccount:${NAMESPACE}:reborn`)
  })

  it('needs no rights of the worker beyond its generated role', async () => {
    const path = fileURLToPath(new URL('../../deploy/rbac/landscaper/worker.yaml', import.meta.url))
    const role = parse(await readFile(path, 'utf8')) as KubeObject
    const name = 'target-access-worker'
    await stage().admin.request('POST', `${RBAC}/clusterroles`, { body: { ...role, metadata: { name } } })
    await account('worker')
    await allow('worker', { kind: 'ClusterRole', name })
    await self('by-worker')
    await target('kubeconfig-by-worker', { secretRef: { name: 'by-worker' } })
    await stage().secret('by-worker', { kubeconfig: stage().text })
    const spec = { expirationSeconds: 600 }
    const { status } = await stage().admin.request<{ status: { token: string } }>(
      'POST',
      `${stage().core}/serviceaccounts/worker/token`,
      { body: { spec } },
    )
    const kubeconfig = JSON.stringify(stage().changed(({ users: [entry] }) => (entry.user = { token: status.token })))
    const worker = createKubeClient({ kubeconfig })
    const own = createTargetAccess({ kube: worker, data: dataOf, now: () => new Date(), allow: [LISTED_TARGETS] })
    try {
      expect(await whoami({ kube: worker })).toBe(`system:serviceaccount:${NAMESPACE}:worker`)
      await until(async () => (await own.open(NAMESPACE, 'by-worker').catch(() => undefined)) !== undefined)
      expect(await whoami(await own.open(NAMESPACE, 'by-worker'))).toBe(`system:serviceaccount:${NAMESPACE}:by-worker`)
      expect(await whoami(await own.open(NAMESPACE, 'kubeconfig-by-worker'))).toBe('admin')
      expect(await failure(() => own.open('default', 'x'))).toMatchObject({ reason: 'Forbidden', isFinal: false })
    } finally {
      await own.close()
      await worker.close()
      await stage().admin.request('DELETE', `${RBAC}/clusterroles/${name}`)
    }
  })
})
