// The rules of a FoundationDBBackup that its schema cannot express. The webhook and every pass apply them. Source:
// spec/foundationdb.md 1.5.

import { fieldsOf, type Problem, textOf } from '../../../kit/index.ts'
import { blobStoreProblems, keyPathProblems } from '../../model/blob-store-rules.ts'
import { containerSettingsProblems } from '../../model/container-rules.ts'
import { parameterProblems } from '../../model/parameter-rules.ts'
import { backupDeploymentName } from '../../model/process-group-id.ts'
import { metadataProblems, podTemplateProblems } from '../../model/template-rules.ts'
import { DNS_NAME, formatValue, textFieldProblems, versionProblems, WORD } from '../../model/text-rules.ts'

const MAX_LABEL_LENGTH = 63

/** @param object the backup, also malformed. */
export function backupProblems(object: unknown): readonly Problem[] {
  const { metadata, spec: given } = fieldsOf(object)
  const spec = fieldsOf(given)
  const { blobStoreConfiguration, accountName, backupName, bucket, version } = spec
  return [
    ...nameProblems(fieldsOf(metadata)['name']),
    ...versionProblems(version, 'spec.version'),
    ...textFieldProblems(spec, 'spec', { clusterName: DNS_NAME, dataCenter: WORD, tag: WORD }),
    ...blobStoreProblems(blobStoreConfiguration, 'spec.blobStoreConfiguration'),
    ...blobStoreProblems({ accountName, backupName, bucket }, 'spec'),
    ...keyPathProblems(spec['encryptionKeyPath'], 'spec.encryptionKeyPath'),
    ...parameterProblems(spec['customParameters'], 'spec.customParameters', 'knob'),
    ...podTemplateProblems(spec['podTemplateSpec'], 'spec.podTemplateSpec'),
    ...podTemplateProblems(spec['podTemplate'], 'spec.podTemplate'),
    ...metadataProblems(spec['backupDeploymentMetadata'], 'spec.backupDeploymentMetadata'),
    ...containerSettingsProblems(spec['mainContainer'], 'spec.mainContainer'),
    ...containerSettingsProblems(spec['sidecarContainer'], 'spec.sidecarContainer'),
  ]
}

/** The name of the Deployment is the value of a label. */
function nameProblems(value: unknown): readonly Problem[] {
  const most = MAX_LABEL_LENGTH - backupDeploymentName('').length
  if (textOf(value).length <= most) return []
  return [{ field: 'metadata.name', found: formatValue(value), expected: `at most ${most} characters` }]
}
