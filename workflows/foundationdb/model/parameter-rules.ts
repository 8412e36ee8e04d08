// Rules about custom parameters: each becomes a line of a configuration, or an argument `--name=value`. Source:
// spec/foundationdb.md 4.11.

import type { Problem } from '../../kit/index.ts'
import { PROTECTED_PARAMETERS } from '../resources/monitor-configuration.ts'
import { formatValue } from './text-rules.ts'

const FORM = /^([A-Za-z0-9_][A-Za-z0-9_-]*)\s*=\s*([^\p{Cc}\u2028\u2029;]*)$/u

/**
 * @param kind parameters of `server` processes, or only `knob`s: parameters that also become arguments of programs outside of
 * the Pod.
 */
export function parameterProblems(value: unknown, at: string, kind: 'server' | 'knob'): readonly Problem[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : []
  const names = list.map(nameOf)
  return list.flatMap((one, index) => {
    const name = names[index]
    const problem = (expected: string) => [{ field: `${at}[${index}]`, found: formatValue(one), expected }]
    if (name === undefined) return problem('name=value in one line, without ";", and without "-" first')
    if (kind === 'knob' && !name.startsWith('knob_')) return problem('a knob, such as knob_http_verbose_level=1')
    if (PROTECTED_PARAMETERS.has(name)) return problem(`no parameter "${name}", because Pawl sets it`)
    return names.indexOf(name) < index ? problem(`the parameter "${name}" only once`) : []
  })
}

/** In lower case, with `_` for `-`: the programs do not distinguish them. Undefined for a text of another form. */
function nameOf(value: unknown): string | undefined {
  const [, name] = typeof value === 'string' ? (FORM.exec(value) ?? []) : []
  return name?.replaceAll('-', '_').toLowerCase()
}
