// `pawl doctor --landscaper` on a real API server with the objects of a cluster that Landscaper manages.

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { API, Cluster } from '../support/cluster/cluster.ts'
import { runCommand } from '../support/pawl/run-command.ts'

const NAMESPACE = 'preflight'
const { kubeconfigPath } = inject('servers')
const cluster = new Cluster(kubeconfigPath, NAMESPACE)
const empty = new Cluster(kubeconfigPath, 'preflight-empty')

beforeAll(async () => {
  await cluster.createNamespace()
  await empty.createNamespace()
  const chart = await create('Installation', 'chart', {
    blueprint,
    context: 'strange',
    imports: { targets: [{ name: 'cluster', target: 'oidc' }] },
    componentDescriptor: {
      inline: {
        component: { resources: [{ name: 'x', access: { type: 's3/v1' } }, { access: { type: 'localBlob/v1' } }] },
      },
    },
  })
  const execution = await create('Execution', 'chart', {}, [ownedBy('Installation', chart)])
  await create('DeployItem', 'helm', { type: 'landscaper.gardener.cloud/helm' }, [ownedBy('Execution', execution)])
  await create('DeployItem', 'own', { type: 'example.org/own' }, [ownedBy('Execution', execution)])
  await create('DeployItem', 'plain', { type: 'landscaper.gardener.cloud/kubernetes-manifest', config: CONFIG })
  await create('Target', 'oidc', { type: 'landscaper.gardener.cloud/kubernetes-cluster', config: { oidcConfig: {} } })
  await create('Target', 'local', {
    type: 'landscaper.gardener.cloud/kubernetes-cluster',
    config: { kubeconfig: LOCAL },
  })
  await create('Installation', 'signed', {
    blueprint,
    verification: { signatureName: 'acme' },
    imports: importing('local'),
  })
  await create('Installation', 'same', { blueprint })
  await cluster.create(
    { apiVersion: API, kind: 'Context', metadata: { name: 'strange' }, repositoryContext: { type: 'inline/v1' } },
    'contexts',
  )
})
afterAll(async () => {
  await cluster.kube.close()
  await empty.kube.close()
})

const blueprint = { inline: { filesystem: {} } }
const CONFIG = { apiVersion: 'manifest.deployer.landscaper.gardener.cloud/v1alpha2', kind: 'ProviderConfiguration' }
const LOCAL = 'clusters:\n- cluster:\n    server: https://127.0.0.1:6443\n'
const importing = (target: string) => ({ targets: [{ name: 'cluster', target }] })

async function create(kind: string, name: string, spec: object, ownerReferences: readonly object[] = []) {
  const metadata = { name, ownerReferences } as unknown as KubeObject['metadata']
  return await cluster.create({ apiVersion: API, kind, metadata, spec }, `${kind.toLowerCase()}s`)
}

function ownedBy(kind: string, { metadata: { name, uid } }: KubeObject) {
  return { apiVersion: API, kind, name, uid, controller: true }
}

const preflight = async (namespace: string, ...words: readonly string[]) =>
  await runCommand('doctor', '--landscaper', '--kubeconfig', kubeconfigPath, '-n', namespace, ...words)

describe('pawl doctor --landscaper', { timeout: 120_000 }, () => {
  it('lists the differences of each Installation, with a summary in the first line', async () => {
    const { code, stdout, stderr } = await preflight(NAMESPACE)
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout.split('\n')).toEqual([
      '3 Installations in namespace "preflight": 2 with parts that Pawl does not support, 1 without known differences',
      'installation "preflight/chart"',
      '  not supported: spec.componentDescriptor.inline.component.resources[0].access.type: "s3/v1" is not supported; expected localBlob, localFilesystemBlob, localOciBlob, ociArtifact, ociRegistry, ociImage, ociBlob',
      '  not supported: deployitem "preflight/helm": spec.type: Pawl has no deployer for "landscaper.gardener.cloud/helm"; let Landscaper\'s deployer run, or change the item',
      '  different: deployitem "preflight/own": spec.type: the deployer of "example.org/own" must continue to run, and pick up each job within --pickup-timeout (default: 5m)',
      '  not supported: target "preflight/oidc": spec.config.oidcConfig is not supported; use kubeconfig or selfConfig',
      '  not supported: context "preflight/strange": repositoryContext.type: "inline" is not supported; use a registry or a folder',
      'installation "preflight/signed"',
      '  different: spec.verification: Pawl verifies contents when it reads them, and refuses keys under 2048 bits and contents without a digest',
      '  not supported: target "preflight/local": spec.config.kubeconfig: the server "https://127.0.0.1:6443" is refused; list it in --target-allow',
      'for all Installations',
      '  different: 1 deploy item: the manifest deployer keeps fields that other field managers own (spec.config.updateStrategy update, patch, mergeOverwrite)',
      'Blueprints, Secrets and registries are not checked; all differences: docs/reference/landscaper-differences.md',
      '',
    ])
  })

  it('prints the same differences as JSON, each with the fact of the documentation', async () => {
    const { stdout } = await preflight(NAMESPACE, '-o', 'json')
    const { installations } = JSON.parse(stdout) as { installations: readonly { differences: readonly object[] }[] }
    expect(installations.map(({ differences }) => differences.length)).toEqual([5, 0, 2])
    expect(installations[2]?.differences[0]).toMatchObject({
      effect: 'different',
      object: 'installation "preflight/signed"',
    })
  })

  it('reports that no differences are known', async () => {
    const none = await preflight('preflight-empty')
    expect(none).toMatchObject({ code: 0, stderr: '' })
    expect(none.stdout).toMatch(/^namespace "preflight-empty" has no Installation\n/)
    await empty.create(
      { apiVersion: API, kind: 'Installation', metadata: { name: 'same' }, spec: { blueprint } },
      'installations',
    )
    const same = await preflight('preflight-empty')
    expect(same.code).toBe(0)
    expect(same.stdout).toMatch(
      /^1 Installation in namespace "preflight-empty": no known differences between Landscaper and Pawl\n/,
    )
  })
})
