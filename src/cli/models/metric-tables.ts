import type { ClassFigures, EvaluationMetrics } from '../../index.js'
import { count, loss, tableLines, type Column } from '../text.js'

/** More classes than this are printed only if they were asked for. */
const MOST_ROWS = 30
const MOST_COLUMNS = 15

export interface MetricTableOptions {
  readonly classNames?: readonly string[] | undefined
  /** Whether the metrics were asked for by name: then large tables are printed, too. */
  readonly asked: boolean
}

/** Metrics as lines for people: the numbers in one line, then the table of classes and the confusion matrix. */
export function metricLines(metrics: EvaluationMetrics, { classNames, asked }: MetricTableOptions): string[] {
  const { perClass = [], confusion = [] } = metrics
  const nameOf = (index: number) => classNames?.[index] ?? String(index)
  const numbers = numbersText(metrics)
  const classes = perClass.length > 1 && (asked || perClass.length <= MOST_ROWS)
  const matrix = confusion.length > 0 && (asked || confusion.length <= MOST_COLUMNS)
  return [
    ...(numbers === '' ? [] : [numbers]),
    ...(classes ? ['', ...tableLines(classColumns(nameOf), perClass)] : []),
    ...(matrix
      ? ['', 'classes by row, answers by column:', ...tableLines(confusionColumns(confusion, nameOf), confusion.map(numbered))]
      : [])
  ]
}

const NUMBERS = { precision: 'precision', recall: 'recall', f1: 'F1', iou: 'IoU', auc: 'AUC', r2: 'R2', mae: 'MAE', rmse: 'RMSE' } as const

/** `precision 0.9713, recall 0.9702, F1 0.9706` */
export function numbersText(metrics: EvaluationMetrics): string {
  return Object.entries(NUMBERS)
    .flatMap(([name, title]) => {
      const value = metrics[name as keyof typeof NUMBERS]
      return value === undefined ? [] : [`${title} ${ratio(value)}`]
    })
    .join(', ')
}

function classColumns(nameOf: (index: number) => string): readonly Column<ClassFigures>[] {
  return [
    { title: 'class', cell: (row) => nameOf(row.class), side: 'left' },
    { title: 'samples', cell: ({ samples }) => count(samples) },
    { title: 'precision', cell: ({ precision }) => ratio(precision) },
    { title: 'recall', cell: ({ recall }) => ratio(recall) },
    { title: 'F1', cell: ({ f1 }) => ratio(f1) },
    { title: 'IoU', cell: ({ iou }) => ratio(iou) }
  ]
}

interface ConfusionRow {
  readonly index: number
  readonly counts: readonly number[]
}

const numbered = (counts: readonly number[], index: number): ConfusionRow => ({ index, counts })

function confusionColumns(confusion: readonly (readonly number[])[], nameOf: (index: number) => string): readonly Column<ConfusionRow>[] {
  const answers = confusion.map((_, i): Column<ConfusionRow> => ({ title: nameOf(i), cell: ({ counts }) => count(counts[i]!) }))
  return [{ title: '', cell: ({ index }) => nameOf(index), side: 'left' }, ...answers]
}

function ratio(value: number | null): string {
  return value === null ? '-' : loss(value)
}
