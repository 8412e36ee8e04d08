// Rules about images and TLS of the containers of clusters and backups. Source: spec/foundationdb.md 1.1.

import { fieldsOf, listOf, type Problem } from '../../kit/index.ts'
import { IMAGE_NAME, LINE, TAG_PART, textFieldProblems } from './text-rules.ts'

export function containerSettingsProblems(container: unknown, at: string): readonly Problem[] {
  return [
    ...textFieldProblems(container, at, { peerVerificationRules: LINE }),
    ...listOf(fieldsOf(container)['imageConfigs']).flatMap((one, index) =>
      textFieldProblems(one, `${at}.imageConfigs[${index}]`, {
        baseImage: IMAGE_NAME,
        tag: TAG_PART,
        tagSuffix: TAG_PART,
      }),
    ),
  ]
}
