package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/pagination"
	"github.com/anthropics/anthropic-sdk-go/v2/shared"
)

func connectAnthropic(one target) caller {
	options := []option.RequestOption{
		option.WithMaxRetries(0), option.WithBaseURL(one.URL), option.WithAPIKey(one.Key),
	}
	for name, value := range one.Headers {
		options = append(options, option.WithHeader(name, value))
	}
	client := anthropic.NewClient(options...)
	return func(ctx context.Context, asked request) ([]any, error) {
		answers, err := callAnthropic(ctx, &client, asked)
		var refused *anthropic.Error
		if errors.As(err, &refused) {
			var body shared.ErrorResponse
			if broken := json.Unmarshal([]byte(refused.RawJSON()), &body); broken != nil {
				return nil, broken
			}
			return []any{body}, err
		}
		return answers, err
	}
}

func statusOfAnthropic(err error) (int, string) {
	var refused *anthropic.Error
	if errors.As(err, &refused) {
		return refused.StatusCode, fmt.Sprintf("%d %s", refused.StatusCode, refused.RawJSON())
	}
	return 0, ""
}

func callAnthropic(ctx context.Context, c *anthropic.Client, asked request) ([]any, error) {
	body := option.WithRequestBody(encode(asked))
	id := append(asked.Args, "")
	batches := &c.Messages.Batches
	switch asked.Call {
	case "messages.create":
		return one(c.Messages.New(ctx, anthropic.MessageNewParams{}, body))
	case "messages.create*":
		return drain(c.Messages.NewStreaming(ctx, anthropic.MessageNewParams{}, body))
	case "messages.count_tokens":
		return one(c.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{}, body))
	case "models.list":
		return pageOf(c.Models.List(ctx, anthropic.ModelListParams{}))
	case "models.retrieve":
		return one(c.Models.Get(ctx, id[0], anthropic.ModelGetParams{}))
	case "messages.batches.create":
		return one(batches.New(ctx, anthropic.MessageBatchNewParams{}, body))
	case "messages.batches.retrieve":
		return one(batches.Get(ctx, id[0], anthropic.MessageBatchGetParams{}))
	case "messages.batches.list":
		return pageOf(batches.List(ctx, anthropic.MessageBatchListParams{}))
	case "messages.batches.results":
		return drain(batches.ResultsStreaming(ctx, id[0], anthropic.MessageBatchResultsParams{}))
	case "messages.batches.cancel":
		return one(batches.Cancel(ctx, id[0], anthropic.MessageBatchCancelParams{}))
	case "messages.batches.delete":
		return one(batches.Delete(ctx, id[0], anthropic.MessageBatchDeleteParams{}))
	}
	return nil, fmt.Errorf("no call %q", asked.Call)
}

func pageOf[T any](found *pagination.Page[T], err error) ([]any, error) {
	if err != nil {
		return nil, err
	}
	return list(found.Data, err)
}
