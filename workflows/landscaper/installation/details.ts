// Formats the Installation's details for Temporal's UI; its Execution and items follow below (execution/details.ts).

import { codeBlock } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'
import { shownWait } from './told-waits.ts'

const LONGEST_ERROR = 2000

export function installationDetails(pass: InstallationPass): string {
  const {
    subject,
    state: { execution },
    draft,
  } = pass
  const wait = shownWait(pass)
  const { phase = 'not started', lastError } = draft
  return [
    `**Installation ${subject.namespace}/${subject.name}**: ${phase}`,
    ...(lastError === undefined
      ? []
      : ['', `Error (${lastError.reason}):${codeBlock(lastError.message, LONGEST_ERROR)}`]),
    ...(wait === undefined ? [] : ['', `It is ${wait}.`]),
    ...(execution === undefined ? ['', 'It has no Execution.'] : []),
  ].join('\n')
}
