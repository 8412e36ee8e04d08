// What a person sees of the run in Temporal's UI.

import type { InstallationPass } from './pass.ts'

export function installationDetails({ subject, state: { execution }, draft, jobID }: InstallationPass): string {
  const progress =
    execution === undefined
      ? 'none'
      : execution.jobIDFinished === jobID
        ? (execution.phase ?? 'finished')
        : execution.jobID === jobID
          ? `running (${execution.phase ?? 'starting'})`
          : 'not triggered'
  return [
    `**Installation ${subject.namespace}/${subject.name}**: ${draft.phase ?? 'not started'}`,
    ...(draft.lastError === undefined ? [] : ['', `Error (${draft.lastError.reason}): ${draft.lastError.message}`]),
    '',
    `Execution: ${progress}`,
  ].join('\n')
}
