// The rules of a FoundationDBRestore that its schema cannot express. The webhook and every pass apply them. Source:
// spec/foundationdb.md 1.6.

import { fieldsOf, listOf, type Problem } from '../../../kit/index.ts'
import { backupURLProblems, blobStoreProblems, keyPathProblems } from '../../model/blob-store-rules.ts'
import { parameterProblems } from '../../model/parameter-rules.ts'
import { DNS_NAME, type TextForm, textFieldProblems } from '../../model/text-rules.ts'

const KEY: TextForm = {
  accepts: (text) => /^[A-Za-z0-9/\\][A-Za-z0-9/\\-]*$/.test(text),
  expected: 'letters, digits, "/", "-" and \\xHH, not "-" first',
}

/** @param object the restore, also malformed. */
export function restoreProblems(object: unknown): readonly Problem[] {
  const spec = fieldsOf(fieldsOf(object)['spec'])
  return [
    ...textFieldProblems(spec, 'spec', { destinationClusterName: DNS_NAME }),
    ...listOf(spec['keyRanges']).flatMap((range, index) =>
      textFieldProblems(range, `spec.keyRanges[${index}]`, { start: KEY, end: KEY }),
    ),
    ...blobStoreProblems(spec['blobStoreConfiguration'], 'spec.blobStoreConfiguration'),
    ...backupURLProblems(spec['backupURL'], 'spec.backupURL'),
    ...keyPathProblems(spec['encryptionKeyPath'], 'spec.encryptionKeyPath'),
    ...parameterProblems(spec['customParameters'], 'spec.customParameters', 'knob'),
  ]
}
