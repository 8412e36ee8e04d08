// What commands that people do things with have in common: where the cluster is, why they do it, and how what was done is told.

import type { Command } from 'commander'

import { DATA_DIR_OPTION } from './dev-folder.ts'
import { shown } from './ask/texts.ts'
import { parseOneOf } from './usage.ts'

export function withReason(command: Command): Command {
  return command.option('--reason <text>', 'why, for those who look at it later')
}

/** @param namespace what `-n` names: `the namespace`. */
export function withActFlags(command: Command, formats: readonly string[], namespace: string): Command {
  return command
    .option('-o, --output <format>', formats.join(', '), parseOneOf(formats), 'text')
    .option('-n, --namespace <name>', `${namespace} (default: that of the kubeconfig's context)`)
    .option('--context <name>', 'context of the kubeconfig (default: its current one)')
    .option('--kubeconfig <file>', 'the cluster and your account (default: $KUBECONFIG, else that of pawl dev)')
    .option(...DATA_DIR_OPTION)
}

const LONGEST_LINE = 4000

/** Texts of objects may have what moves a cursor; how far a line is indented stays. */
export function linesText(lines: readonly string[]): string {
  return lines.map((line) => `${/^ */.exec(line)?.[0] ?? ''}${shown(line, LONGEST_LINE)}\n`).join('')
}
