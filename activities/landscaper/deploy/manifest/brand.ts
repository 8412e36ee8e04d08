// What the manifest deployer puts on the objects that it applies.

import type { Brand } from '../objects/brand.ts'

export const BRAND: Brand = {
  fieldManager: 'pawl-manifest',
  label: 'manifest.deployer.landscaper.gardener.cloud/deployitem',
  hash: 'manifest.deployer.landscaper.gardener.cloud/applied-hash',
}
