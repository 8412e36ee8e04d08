// The names that the manifest deployer writes on the objects that it applies: field manager, label and annotation.

import type { Brand } from '../objects/brand.ts'

export const BRAND: Brand = {
  fieldManager: 'pawl-manifest',
  label: 'manifest.deployer.landscaper.gardener.cloud/deployitem',
  hash: 'manifest.deployer.landscaper.gardener.cloud/applied-hash',
}
