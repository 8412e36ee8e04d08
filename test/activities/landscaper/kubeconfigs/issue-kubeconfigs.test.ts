// Kubeconfigs for templates, issued by the API server of a Target. The tests run two small servers, one for the engine and one for the Target.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { kubeconfigIssuer } from '../../../../activities/landscaper/kubeconfigs/issue-kubeconfigs.ts'
import { KubeconfigCache } from '../../../../activities/landscaper/kubeconfigs/kubeconfig-cache.ts'
import { createTargetAccess } from '../../../../activities/landscaper/deploy/target/open-target.ts'
import type { TargetAccess } from '../../../../activities/landscaper/deploy/target/target-cluster.ts'
import type { KubeconfigSpec } from '../../../../activities/landscaper/render/engine/kubeconfig-requests.ts'
import { createKubeClient, type KubeClient } from '../../../../activities/kube/client.ts'
import { TinyApi, type Request } from '../../kube/tiny-api.ts'
import { dataOf } from '../tenant-data.ts'

let own: TinyApi
let theirs: TinyApi
let kube: KubeClient
let targets: TargetAccess
let nowMs: number
let bodies: unknown[]
const lately = new KubeconfigCache()

const EXPIRES = '2031-01-01T00:00:00Z'

beforeEach(async () => {
  ;[own, theirs] = await Promise.all([TinyApi.start(), TinyApi.start()])
  kube = createKubeClient({ kubeconfig: own.kubeconfig })
  nowMs = Date.now()
  bodies = []
  const now = () => new Date(nowMs)
  targets = createTargetAccess({ kube, data: dataOf, now, allow: ['127.0.0.1'] })
  put('one', theirs.kubeconfig)
  theirs.intercept = answer
})
afterEach(async () => {
  await Promise.all([targets.close(), kube.close()])
  await Promise.all([own.stop(), theirs.stop()])
})

function put(name: string, kubeconfig: string): void {
  own.put(`/apis/landscaper.gardener.cloud/v1alpha1/namespaces/n/targets/${name}`, {
    metadata: { name, namespace: 'n', uid: `uid-${name}` },
    spec: { type: 'landscaper.gardener.cloud/kubernetes-cluster', config: { kubeconfig } },
  })
}

const BASE64 = Buffer.from('kind: Config of berry').toString('base64')

function answer({ method, path, body }: Request) {
  if (method !== 'POST') return missing(path)
  bodies.push(body)
  const status = { expirationTimestamp: EXPIRES, token: `token-${bodies.length}`, kubeconfig: BASE64 }
  if (path === '/api/v1/namespaces/apps/serviceaccounts/deployer/token') return { status: 201, body: { status } }
  if (path === '/apis/core.gardener.cloud/v1beta1/namespaces/garden-x/shoots/berry/adminkubeconfig')
    return { status: 201, body: { status } }
  return missing(path)
}

/** The answer of an API server that does not have the object: it names the object. */
function missing(path: string) {
  const [kind, name] = path.split('/').slice(-3)
  return { status: 404, body: { reason: 'NotFound', message: `${kind} "${name}" not found`, details: { kind, name } } }
}

const account = {
  kind: 'serviceAccount',
  target: 'one',
  name: 'deployer',
  namespace: 'apps',
  expirationSeconds: 900,
} as const
const shoot = { kind: 'shoot', target: 'one', name: 'berry', namespace: 'garden-x', expirationSeconds: 900 } as const
const oidc = { kind: 'oidc', target: 'one', issuerURL: 'https://login.example.com', clientID: 'me' } as const

async function issue(ask: KubeconfigSpec, { namespace = 'n', job = 'job' } = {}) {
  const source = kubeconfigIssuer({ targets, now: () => new Date(nowMs), cache: lately }, { namespace }, job)
  const { kubeconfig, expiresAt } = await source.issue({ key: JSON.stringify(ask), ask })
  return { text: Buffer.from(kubeconfig, 'base64').toString('utf8'), expiresAt }
}

const failed = async (ask: KubeconfigSpec, namespace?: string) =>
  await issue(ask, namespace === undefined ? {} : { namespace }).then(
    () => expect.unreachable('a failure was expected'),
    (error: unknown) => error as { type: string; message: string; nonRetryable: boolean },
  )

describe('a kubeconfig of a service account', () => {
  it('has a token of the service account, the server of the Target, and the expiry time that the server grants', async () => {
    const { text, expiresAt } = await issue(account)
    const { server } = (JSON.parse(theirs.kubeconfig) as { clusters: [{ cluster: { server: string } }] }).clusters[0]
      .cluster
    expect(JSON.parse(text)).toMatchObject({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ cluster: { server } }],
      users: [{ name: 'deployer', user: { token: 'token-1' } }],
    })
    expect(Date.parse(expiresAt)).toBe(Date.parse(EXPIRES))
    expect(bodies).toEqual([expect.objectContaining({ kind: 'TokenRequest', spec: { expirationSeconds: 900 } })])
  })

  it('is reused in its job for less than 10 minutes, and issued again for another job or after the Target changes', async () => {
    const first = await issue(account, { job: 'j1' })
    expect(await issue(account, { job: 'j1' })).toEqual(first)
    expect((await issue(account, { job: 'j2' })).text).toContain('token-2')
    put('one', theirs.kubeconfig)
    expect((await issue(account, { job: 'j1' })).text).toContain('token-3')
    nowMs += 10 * 60_000
    expect((await issue(account, { job: 'j1' })).text).toContain('token-4')
  })
})

describe('a kubeconfig of a Shoot', () => {
  it('is the kubeconfig that Gardener returns', async () => {
    expect((await issue(shoot)).text).toBe('kind: Config of berry')
    expect(bodies).toEqual([
      expect.objectContaining({ kind: 'AdminKubeconfigRequest', spec: { expirationSeconds: 900 } }),
    ])
  })
})

describe('a kubeconfig with OIDC', () => {
  it('logs in with a command on the machine of its user, and contains no credentials of the Target', async () => {
    const { text, expiresAt } = await issue(oidc)
    const { users } = JSON.parse(text) as { users: [{ user: { exec: { command: string; args: string[] } } }] }
    expect(Object.keys(users[0].user)).toEqual(['exec'])
    expect(users[0].user.exec.args).toEqual(
      expect.arrayContaining(['oidc-login', '--oidc-issuer-url=https://login.example.com', '--oidc-client-id=me']),
    )
    expect(expiresAt).toBe('')
    expect(bodies).toEqual([])
  })
})

describe('a kubeconfig that cannot be issued', () => {
  it.each([
    [
      { ...account, name: 'nobody' },
      'KubeconfigNotIssued',
      'kubeconfig of service account apps/nobody by target one: POST',
    ],
    [
      { ...account, namespace: '../x' },
      'KubeconfigNotIssued',
      'namespace: not an object name; expected lower-case letters, digits, dots and dashes',
    ],
    [{ ...shoot, name: 'cherry' }, 'KubeconfigNotIssued', 'kubeconfig of Shoot garden-x/cherry by target one: POST'],
    [{ ...account, target: 'none' }, 'NoTargetFound', 'Target "n/none" does not exist; create it'],
  ])('fails the job, %#', async (ask, type, message) => {
    expect(await failed(ask)).toMatchObject({
      type,
      nonRetryable: true,
      message: expect.stringContaining(message) as string,
    })
  })

  it('is reported when the token is too long, and when the token and the CA of the Target together are too large', async () => {
    const token = 'a'.repeat(64 * 1024 + 1)
    theirs.intercept = () => ({ status: 201, body: { status: { token, expirationTimestamp: EXPIRES } } })
    const { message } = await failed(account)
    expect(message).toContain('found a token of 65537 bytes; expected at most 65536')
    theirs.intercept = () => ({
      status: 201,
      body: { status: { token: token.slice(1), expirationTimestamp: EXPIRES } },
    })
    expect(await failed(account)).toMatchObject({ type: 'KubeconfigNotIssued', nonRetryable: true })
  })

  it('is not requested through a Target of another namespace', async () => {
    expect(await failed(account, 'other')).toMatchObject({ type: 'NoTargetFound' })
    expect(theirs.requests).toEqual([])
  })

  it('is requested again after an invalid answer, and the error does not quote that answer', async () => {
    theirs.intercept = () => ({ status: 201, body: { status: { token: 'a b SECRET', expirationTimestamp: EXPIRES } } })
    const { message, ...error } = await failed(account)
    expect(error).toMatchObject({ type: 'TargetUnavailable', nonRetryable: false })
    expect(message).not.toContain('SECRET')
  })
})
