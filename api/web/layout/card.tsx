import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Notice } from '../request/notice.ts';
import { Icon, type IconName } from './icons.tsx';

type CardProps = {
  id: string;
  title: string;
  /** `h1` for the card that is the whole page. */
  heading?: 'h1' | 'h2';
  icon?: IconName;
  /** A short text or mark next to the heading. */
  aside?: Child;
  /** Shown only if it is for this card. */
  notice?: Notice | undefined;
  children?: Child;
};

/** A section with its own heading and the anchor `#id`. */
export function Card(props: CardProps): JSX.Element {
  const { id, title, heading: Heading = 'h2', icon, aside, notice, children } = props;
  return (
    <section class="card" id={id} aria-labelledby={`${id}-title`}>
      <div class="card-head">
        {icon && <Icon name={icon} />}
        <Heading id={`${id}-title`}>{title}</Heading>
        {aside && <span class="card-aside">{aside}</span>}
      </div>
      {notice?.card === id && <NoticeLine notice={notice} />}
      {children}
    </section>
  );
}

/** What the visitor must know or correct before going on, for example why the form below it was refused. */
export function ProblemLine({ message }: { message: string }): JSX.Element {
  return (
    <p class="warning" role="alert">
      <Icon name="warning" />
      <span>{message}</span>
    </p>
  );
}

/** The result of the last action. */
export function NoticeLine({ notice }: { notice: Notice }): JSX.Element {
  if (notice.isProblem) return <ProblemLine message={notice.text} />;
  return (
    <p class="notice" role="status">
      <Icon name="info" />
      <span>{notice.text}</span>
    </p>
  );
}
