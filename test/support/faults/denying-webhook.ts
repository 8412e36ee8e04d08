// A validating webhook for the ConfigMaps of one namespace, on a real API server. A test decides which requests it denies.

import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, vi } from 'vitest'

import { Authority } from '../servers/certificates.ts'
import type { Cluster } from '../cluster/cluster.ts'

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
const PROBE = 'probe-of-the-webhook'
const PATIENT = { timeout: 60_000, interval: 200 }

export interface Asked {
  readonly operation: string
  readonly name: string
  readonly object: { readonly data?: Readonly<Record<string, string>> } | null
}

/** The `status` of the webhook's answer. */
export interface Denied {
  readonly code?: number
  readonly reason?: string
  readonly message: string
}

export interface DenyingWebhook {
  readonly name: string
  stop(): Promise<void>
}

/** @param deny undefined: allowed. */
export async function startDenyingWebhook(
  { kube, namespace }: Cluster,
  deny: (asked: Asked) => Denied | undefined,
): Promise<DenyingWebhook> {
  const authority = await Authority.make('an authority')
  const server = createServer(await authority.issue('localhost'), (request, response) => {
    void json(request).then((review) => {
      const asked = (review as { readonly request: Asked & { readonly uid: string } }).request
      const status = asked.name === PROBE ? { message: 'it answers' } : deny(asked)
      const answer = { uid: asked.uid, allowed: status === undefined, ...(status !== undefined && { status }) }
      const head = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }
      response.end(JSON.stringify({ ...head, response: answer }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const caBundle = Buffer.from(authority.cert).toString('base64')
  const name = `${namespace}.example.com`
  const webhook = {
    name,
    clientConfig: { url: `https://localhost:${port}/`, caBundle },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }],
    failurePolicy: 'Fail',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
  }
  await kube.request('POST', CONFIGURATIONS, { body: { metadata: { name }, webhooks: [webhook] } })
  // The server applies a configuration some time after its creation.
  const probe = { body: { metadata: { name: PROBE } }, query: { dryRun: 'All' } }
  await vi.waitFor(async () => {
    await expect(kube.request('POST', `/api/v1/namespaces/${namespace}/configmaps`, probe)).rejects.toMatchObject({
      isDenial: true,
    })
  }, PATIENT)
  return {
    name,
    stop: async () => {
      await kube.request('DELETE', `${CONFIGURATIONS}/${name}`)
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
