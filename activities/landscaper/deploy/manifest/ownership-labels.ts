// The names that the manifest deployer writes on the objects that it applies: field manager, label and annotation.

import type { OwnershipLabels } from '../objects/ownership-labels.ts'

export const OWNERSHIP_LABELS: OwnershipLabels = {
  fieldManager: 'pawl-manifest',
  label: 'manifest.deployer.landscaper.gardener.cloud/deployitem',
  hash: 'manifest.deployer.landscaper.gardener.cloud/applied-hash',
}
