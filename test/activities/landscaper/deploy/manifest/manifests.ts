// Builds provider configurations, DeployItems and objects for tests of the manifest deployer.

import { storedAs } from '../../../../../activities/kube/object-views.ts'
import { readManifestConfig } from '../../../../../activities/landscaper/deploy/manifest/config.ts'
import type { Policy } from '../../../../../activities/landscaper/deploy/objects/manifest.ts'
import type { Manifest } from '../../../../../activities/landscaper/deploy/objects/manifest.ts'
import { deployItemKind } from '../../../../../workflows/landscaper/deploy-item/kind.ts'

export const V2 = 'manifest.deployer.landscaper.gardener.cloud/v1alpha2'
export const V1 = 'manifest.deployer.landscaper.gardener.cloud/v1alpha1'

type Fields = Readonly<Record<string, unknown>>

/** A provider configuration. */
export const config = (fields: Fields, apiVersion = V2) => ({ apiVersion, kind: 'ProviderConfiguration', ...fields })

/**
 * A DeployItem, typed as if the API server had returned it.
 *
 * @param config the provider configuration; it hides the function `config` here.
 * @param target name of the Target. Default: the item has no Target.
 */
export const deployItem = (config: unknown, status: object = {}, target?: string) =>
  storedAs(deployItemKind, {
    metadata: { name: 'item', namespace: 'n' },
    spec: { config, ...(target !== undefined && { target: { name: target } }) },
    status,
  })

export const configMap = (name: string, data: Fields = { a: '1' }, metadata: Fields = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'n', ...metadata },
  data,
})

/** An object of any kind in namespace `n`. */
export const objectOf = (apiVersion: string, kind: string, fields: Fields = {}, metadata: Fields = {}) => ({
  apiVersion,
  kind,
  metadata: { name: 'x', namespace: 'n', ...metadata },
  ...fields,
})

/**
 * Parses a configuration with one manifest entry, as the deployer does. @returns the parsed entry.
 *
 * @param object the object to deploy.
 * @param around the other fields of the entry, such as `annotateBeforeCreate`.
 */
export function manifest(object: unknown, around: Fields = {}, policy: Policy = 'manage'): Manifest {
  const [read] = readManifestConfig(
    deployItem(config({ manifests: [{ manifest: object, policy, ...around }] })),
  ).manifests
  if (read === undefined) throw new Error('no manifest')
  return read
}
