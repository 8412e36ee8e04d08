// The names that the manifest deployer writes on the objects that it applies: field manager, label and annotation.
// ../objects/ownership-labels.ts describes them.

import type { OwnershipLabels } from '../objects/ownership-labels.ts'

export const OWNERSHIP_LABELS: OwnershipLabels = {
  fieldManager: 'pawl-manifest',
  // The key of a label; its value is the DeployItem's name.
  label: 'manifest.deployer.landscaper.gardener.cloud/deployitem',
  // The key of an annotation; its value is the hash of the manifest that was written last.
  hash: 'manifest.deployer.landscaper.gardener.cloud/applied-hash',
}
