import type { ESLint } from 'eslint'

export declare const prose: ESLint.Plugin
