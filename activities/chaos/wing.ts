// The wing in a worker: the operators' configuration, read once when the worker starts.

import { readFileSync } from 'node:fs'

import { parse, YAMLParseError } from 'yaml'

import { type ChaosConfig, readChaosConfig } from '../../workflows/chaos/config.ts'
import type { chaosWing } from '../../workflows/chaos/wing.ts'
import { type JsonValue, problemText } from '../../workflows/kit/index.ts'
import type { ActivityWing } from '../wing.ts'

export const chaos: ActivityWing<typeof chaosWing.flags> = {
  open(_deps, flags) {
    const config = configFrom(flags['chaos-config'])
    return {
      activities: {},
      settings: config as unknown as JsonValue,
      close: () => Promise.resolve(),
    }
  },
}

/**
 * The configuration in a file; the defaults without one.
 *
 * @throws a plain Error that names the file and each field that is wrong, what was found and what was expected.
 */
export function configFrom(path: string | undefined): ChaosConfig {
  const { config, problems } = readChaosConfig(path === undefined ? undefined : documentIn(path))
  if (problems.length > 0) throw new Error(`--chaos-config ${path ?? ''}: ${problems.map(problemText).join('; ')}`)
  return config
}

function documentIn(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if (!(error instanceof YAMLParseError) && !(error instanceof Error && 'code' in error)) throw error
    throw new Error(`--chaos-config ${path}: found ${error.message}, expected a file of YAML`, { cause: error })
  }
}
