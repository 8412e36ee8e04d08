// What a failing disk has to say. Source: spec/chaos.md 1.6.

import type { Problem } from '../../../kit/index.ts'
import { choiceProblems, fieldsOf, type JsonFields, listOf, says, shown, textOf } from '../../json-fields.ts'
import { EXIT_CODES, LONGEST_FAILING_PATH } from '../schema/disk-failure.ts'
import { EXPECTED_SHARE, isShare } from './share.ts'

export function diskFailureProblems(failure: JsonFields, at: string): readonly Problem[] {
  const paths = listOf(failure['paths'])
  const { probability } = failure
  return [
    ...(paths.length > 0 ? [] : [{ field: `${at}.paths`, found: 'none', expected: 'at least one path' }]),
    ...paths.flatMap((path, index) => {
      const { length } = textOf(path).trim()
      if (length > 0 && length <= LONGEST_FAILING_PATH) return []
      const expected = `a path of 1 to ${LONGEST_FAILING_PATH} characters`
      return [{ field: `${at}.paths[${index}]`, found: shown(path), expected }]
    }),
    ...choiceProblems(fieldsOf(failure['openat']), `${at}.openat`, { exitCode: EXIT_CODES }),
    ...(says(failure, 'probability') && !isShare(probability)
      ? [{ field: `${at}.probability`, found: shown(probability), expected: EXPECTED_SHARE }]
      : []),
  ]
}
