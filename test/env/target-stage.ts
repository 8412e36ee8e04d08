// Test stage of Targets: a namespace of a real API server, which is both the cluster of the engine and the target.

import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, afterEach, beforeAll, beforeEach, expect, inject } from 'vitest'
import { parse } from 'yaml'

import { toDeployError } from '../../activities/landscaper/deploy/run/deploy-errors.ts'
import { createTargetAccess, KUBERNETES_TARGET_TYPE } from '../../activities/landscaper/deploy/target/open-target.ts'
import type { TargetAccess, TargetCluster } from '../../activities/landscaper/deploy/target/target-cluster.ts'
import { createKubeClient, type KubeClient } from '../../activities/kube/client.ts'
import { LISTED_TARGETS } from '../support/pawl/pawl.ts'
import { targetKind } from '../../workflows/landscaper/target/kind.ts'
import { dataOf } from '../activities/landscaper/tenant-data.ts'

export interface UserConfig {
  clusters: [{ name: string; cluster: Record<string, unknown> }]
  users: [{ name: string; user: Record<string, unknown> }]
}

export class TargetStage {
  readonly namespace: string
  /** The administrator's client, which is also the client of the engine. */
  readonly admin: KubeClient
  /** The administrator's kubeconfig. */
  readonly text: string
  readonly access: TargetAccess
  /** The time of the clock of `access`. */
  nowMs = Date.now()

  constructor(namespace: string, admin: KubeClient, text: string) {
    this.namespace = namespace
    this.admin = admin
    this.text = text
    const allow = [LISTED_TARGETS]
    this.access = createTargetAccess({ kube: admin, data: dataOf, now: () => new Date(this.nowMs), allow })
  }

  get core(): string {
    return `/api/v1/namespaces/${this.namespace}`
  }

  get targets(): string {
    return `/apis/${targetKind.apiVersion}/namespaces/${this.namespace}/targets`
  }

  open = (name: string): Promise<TargetCluster> => this.access.open(this.namespace, name)

  /** Returns the administrator's kubeconfig with changes. */
  changed(change: (config: UserConfig) => void): UserConfig {
    const config = parse(this.text) as UserConfig
    change(config)
    return config
  }

  async target(name: string, spec: object): Promise<void> {
    const { apiVersion, kind } = targetKind
    const body = { apiVersion, kind, metadata: { name }, spec: { type: KUBERNETES_TARGET_TYPE, ...spec } }
    await this.admin.request('POST', this.targets, { body })
  }

  async secret(name: string, stringData: Readonly<Record<string, string>>): Promise<void> {
    await this.admin.request('POST', `${this.core}/secrets`, { body: { metadata: { name }, stringData } })
  }

  async patch(path: string, body: object): Promise<void> {
    await this.admin.request('PATCH', path, { body, contentType: 'application/merge-patch+json' })
  }
}

/**
 * Creates one namespace for the file and one stage per test. @returns a function that returns the stage of the running
 * test.
 */
export function useTargetStage(namespace: string): () => TargetStage {
  let admin: KubeClient | undefined
  let text = ''
  let stage: TargetStage | undefined
  beforeAll(async () => {
    const { kubeconfigPath } = inject('servers')
    text = await readFile(kubeconfigPath, 'utf8')
    admin = createKubeClient({ kubeconfigPath })
    await admin.request('POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } })
  })
  beforeEach(() => {
    if (admin !== undefined) stage = new TargetStage(namespace, admin, text)
  })
  afterEach(async () => {
    await stage?.access.close()
  })
  afterAll(async () => {
    await admin?.request('DELETE', `/api/v1/namespaces/${namespace}`)
    await admin?.close()
  })
  return () => {
    if (stage === undefined) throw new Error('no test runs')
    return stage
  }
}

/** Returns the user name of the client on the API server. */
export async function whoami({ kube }: Pick<TargetCluster, 'kube'>): Promise<string> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const { status } = await kube.request<{ status: { userInfo: { username: string } } }>('POST', path, { body })
  return status.userInfo.username
}

/** Returns the deploy error of a call; fails the test if the call succeeds. */
export async function failure(act: () => Promise<unknown>) {
  const error = await act().then(
    () => undefined,
    (caught: unknown) => toDeployError('Test', caught),
  )
  expect(error).toBeDefined()
  const { reason, codes, message, isFinal } = error!
  return { reason, codes, message, isFinal }
}

export async function until(wanted: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000
  while (!(await wanted())) {
    if (Date.now() > deadline) throw new Error('it did not get there in 30 s')
    await sleep(200)
  }
}
